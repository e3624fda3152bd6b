package steps

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/metadata"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// launchLab is what the launches of one apply share.
type launchLab struct {
	variant.Resolver
	Store *store.Store
	// Launcher starts engines.
	Launcher engine.Launcher
	// Owner marks what is started on behalf of this state directory.
	Owner string
	// RunDir is the folder of this run; engine logs go below it.
	RunDir string
	// Boot is the boot of this machine: a session cut by a reboot is redone.
	Boot string
	// Redact takes sensitive values out of logs and answers.
	Redact *redact.Redactor
	// Maker names the step of the plan that makes an image where a spec is started;
	// empty is none.
	Maker func(spec engine.Spec, image string) string

	// gpus are those that this apply holds, metadata what it has found out.
	gpus     gpuHold
	metadata metadata.Collector
}

// started is one engine that runs, with the record of its launch.
type started struct {
	inst   engine.Instance
	client *openai.Client
	record *ledger.Launch
	lab    *launchLab
	began  time.Time
	// first is the answer to the first request, nil where there was none.
	first *measure.Sample
	// api is the endpoint that the engine answers at.
	api openai.API
	// kind and log are what is known of how the engine breaks, how its launcher.
	kind kinds.Kind
	log  string
	how  engine.How
	// command is set where the engine ends by itself.
	command commandUse
	// crashed is how often the variant crashed since its last launch that counts.
	crashed int
	gpu     gpuUse
	// describe collects the launch's metadata, once.
	describe func()
}

// launch starts a variant and waits until it is ready. When it does not, what
// was started is stopped, and the record says why.
func (l *launchLab) launch(ctx context.Context, s *runtime.Scope, v *variant.Variant, record *ledger.Launch) (*started, error) {
	record.Variant, record.VariantKey, record.Node, record.BootID = v.Name, v.Key, s.Node.ID, l.Boot
	record.Block, record.Knobs = v.Engine, maps.Clone(v.Knobs)
	record.Engine = map[string]string{
		"kind": v.Spec.Kind, "command": strings.Join(v.Spec.Command, " "), "program": l.Program(ctx, v.Spec),
	}
	for k, value := range shownEnv(v.Spec.Env) {
		record.Engine["env."+k] = value
	}
	log := filepath.Join(l.RunDir, "launches", runtime.FileName(record.ID)+".log")
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, fmt.Errorf("no folder for engine logs: %w", err)
	}
	st := &started{record: record, lab: l, kind: variant.KindOf(v.Spec), log: log, how: v.Spec.How()}
	v, err := l.provide(ctx, s, v, record)
	if err == nil {
		st.gpu, err = l.gpuBefore(ctx, s, v)
	}
	st.began = time.Now()
	record.Started = st.began.UTC()
	if err != nil {
		st.broke(err)
		return st, err
	}
	st.command = useOf(v.Command, v.Spec.Dir)
	st.describe = sync.OnceFunc(func() { l.describe(ctx, s, v, st) })
	inst, err := l.Launcher.Launch(ctx, v.Spec, engine.Launch{ID: record.ID, Owner: l.Owner, LogPath: log, OutPath: stdoutOf(v.Command, log), Evidence: l.LogEvidence(v)})
	if err != nil {
		st.broke(err)
		st.redactLog(log)
		st.describe()
		return st, err
	}
	st.inst = inst
	for key, value := range inst.About() {
		record.Engine[key] = value
	}
	st.client = ClientOf(inst, st.kind, v.Spec.Model)
	err = inst.Ready(ctx)
	if err == nil {
		err = st.firstRequest(ctx, v)
	}
	if err != nil {
		st.broke(err)
		st.stop(s)
		return st, err
	}
	if st.command.of == nil {
		// A command is measured while it runs.
		st.describe()
	}
	return st, nil
}

// ClientOf is a client for a running engine, whose prompts no cache answers where
// the kind can be asked for that.
func ClientOf(inst engine.Instance, kind kinds.Kind, model string) *openai.Client {
	access := inst.Access()
	client := openai.New(access.BaseURL, model)
	client.Header, client.Extra, client.Rename, client.Tokenizer = access.Header, kind.Ask.NoCache, kind.Ask.Rename, tokenizerOf(kind.Tokenize)
	if t, ok := client.HTTP.Transport.(*http.Transport); ok {
		t.TLSClientConfig = access.TLS
		t.DisableKeepAlives = kind.Ask.ClosesStreams
	}
	return client
}

// tokenizerOf is how a kind, or the plan's profile of it, counts the tokens of a
// text; the client's own way where it says nothing.
func tokenizerOf(t kinds.Tokenize) openai.Tokenizer {
	if t.Path == "" {
		return openai.Tokenizer{}
	}
	return openai.Tokenizer{Path: t.Path, Field: t.Field, Count: func(ctx context.Context, answer any) (int, error) {
		value, err := observe.RunJQ(ctx, t.Count, answer)
		if err != nil {
			return 0, err
		}
		switch n := value.(type) {
		case int:
			return n, nil
		case float64:
			if n == math.Trunc(n) {
				return int(n), nil
			}
		}
		return 0, fmt.Errorf("%s of its answer is %v, and no number of tokens", t.Count, value)
	}}
}

// keep appends the record of the launch to the ledger.
func (st *started) keep(s *runtime.Scope) error {
	return st.lab.Store.Append(&ledger.Record{
		Type: "launch", Time: time.Now().UTC(), Run: s.Run, Launch: st.record,
	})
}
