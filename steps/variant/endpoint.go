package variant

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
)

// endpointPart is an engine that mxflow does not start.
var endpointPart = launchPart{schema: endpointSchema, put: putEndpoint}

var endpointSchema = plans.Schema{
	Doc: "The engine is already running; mxflow neither starts nor stops it. Launches are fresh starts only with " +
		"`restart`; without it nothing is compared, whatever the numbers.",
	Example: plans.Example(examples, `endpoint {`),
	Attrs:   plans.Attrs(endpointAttrs{}),
	Check: plans.Checked(func(b *plans.Block, e endpointAttrs) (errs []plans.AttrError) {
		add := func(attr, code, summary, format string, args ...any) {
			errs = append(errs,
				plans.AttrError{Attr: attr, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)})
		}
		if err := run.CheckURL(e.URL); err != nil {
			add("url", "invalid-value", "Invalid url", "%v.", err)
		}
		if err := run.CheckKey(e.APIKey); err != nil {
			add("api_key", "invalid-value", "Invalid api_key", "The key is invalid: %v.", err)
		}
		for name, value := range sorted.All(e.Headers) {
			switch err := run.CheckHeader(name, value); {
			case err != nil:
				add("headers", "invalid-value", "Invalid header", "%q is invalid: %v.", name, err)
			case e.APIKey != "" && strings.EqualFold(name, "Authorization"):
				add("headers", "endpoint-contradiction", "Two keys",
					"api_key is sent as the header Authorization, which headers sets too. Remove one of them.")
			}
		}
		if strings.HasPrefix(e.URL, "http://") && (e.CAFile != "" || e.Insecure) {
			add("url", "endpoint-contradiction", "Certificates without TLS",
				"ca_file and insecure are about https://, and this is plain http://. Correct the url, or remove them.")
		}
		if _, given := b.Attrs["restart"]; given && (len(e.Restart) == 0 || e.Restart[0] == "") {
			add("restart", "empty-value", "Empty restart",
				`Name the program that restarts the server and its arguments, such as ["ssh", "box", "systemctl restart vllm"], or remove restart.`)
		}
		return errs
	}),
}

// endpointAttrs are the block's attributes by their names in the plan.
type endpointAttrs struct {
	URL      string            `hcl:"url" doc:"Root of its API, such as 'https://box.example/llm/v1'. '/v1' can be left out. Redirects are not followed."`
	APIKey   string            `hcl:"api_key,optional" filled:"true" doc:"Sent as 'Authorization: Bearer …'. It must come from a sensitive variable."`
	Headers  map[string]string `hcl:"headers,optional" doc:"Headers of every request, such as another form of key."`
	CAFile   string            `hcl:"ca_file,optional" excludes:"insecure=true" doc:"PEM file of more certificates to trust. It is relative to the plan's folder; the system's are trusted too."`
	Insecure bool              `hcl:"insecure,optional" default:"false" doc:"Does not check the server's certificate."`
	Restart  []string          `hcl:"restart,optional" doc:"Command that restarts the server before each launch. It runs in the plan's folder without a shell. It gets the 'env' of the engine and its knobs, must stop the old server, and must return once the new one has been started, within the ready timeout."`
}

// putEndpoint adds the block to the spec. There is no command, so flags have nowhere to
// go.
func putEndpoint(l *Resolver, d *draft, spec *engine.Spec) ([]string, error) {
	var a endpointAttrs
	if err := d.engine.Launch.Decode(&a); err != nil {
		return nil, err
	}
	var lost []string
	if len(d.settings) > 0 {
		lost = append(lost, "settings")
	}
	if len(d.args) > 0 {
		lost = append(lost, "args")
	}
	if d.image != "" {
		lost = append(lost, "image")
	}
	if len(d.sources) > 0 {
		lost = append(lost, "source")
	}
	if len(a.Restart) == 0 && (len(d.env) > 0 || len(d.unset) > 0) {
		lost = append(lost, "env")
	}
	if len(lost) > 0 {
		return nil, fmt.Errorf("engine %s.%s is not started by mxflow: %s of the plan cannot reach it", d.engine.Kind,
			d.engine.Name, strings.Join(lost, ", "))
	}
	file := func(path string) string {
		if path == "" {
			return ""
		}
		return l.Plan.Path(path)
	}
	spec.Endpoint = &engine.Endpoint{
		URL: a.URL, APIKey: a.APIKey, Headers: a.Headers, CAFile: file(a.CAFile),
		Insecure: a.Insecure, Restart: a.Restart,
	}
	if len(a.Restart) == 0 {
		spec.Env = nil // what the kind sets reaches no process
	}
	return nil, nil
}
