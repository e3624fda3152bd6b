package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/steps"
)

// dotenv is the variables alone, as compose and its like read them: what stands in
// single quotes is taken as it is.
func (s *script) dotenv() (string, error) {
	var b strings.Builder
	for _, line := range s.comments() {
		b.WriteString("# " + line + "\n")
	}
	for _, name := range s.spec.Unset {
		if _, set := s.spec.Env[name]; !set {
			b.WriteString("# unset " + name + "\n")
		}
	}
	var secret []string
	for _, name := range slices.Sorted(maps.Keys(s.spec.Env)) {
		value := s.spec.Env[name]
		switch {
		case !s.shows && (steps.SecretName(name) || s.hides(value)):
			secret = append(secret, name)
		case !filled(value, nil).fixed():
			return "", fmt.Errorf("%s is %q, which a launch fills in: a file of variables cannot. Use --format shell", name, s.secrets.Text(value))
		default:
			b.WriteString(name + "=" + dotenvValue(value) + "\n")
		}
	}
	if len(secret) > 0 {
		return "", fmt.Errorf("%s would be missing in a file of variables, which cannot ask for what is not there: add --show-secrets, or use --format shell", strings.Join(secret, ", "))
	}
	return b.String(), nil
}

func dotenvValue(value string) string {
	if !strings.Contains(value, "'") {
		return "'" + value + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`).Replace(value) + `"`
}

// docker is the docker run command alone.
func (s *script) docker() (string, error) {
	if s.spec.Docker == nil {
		return "", fmt.Errorf("engine %s is launched by %s: --format docker is for engines with a docker block. Name one with --engine, or use --format shell", s.engine, s.spec.How())
	}
	s.used = map[string]bool{}
	argv := s.dockerRun()
	delete(s.used, "MXFLOW_PORT")
	if len(s.used) > 0 {
		return "", fmt.Errorf("docker run alone lacks %s: use --format shell, which provides it or asks for it (--show-secrets writes sensitive values out)",
			strings.Join(slices.Sorted(maps.Keys(s.used)), ", "))
	}
	for _, w := range argv {
		for i, p := range w {
			if p.variable != "" {
				w[i] = piece{text: strconv.Itoa(s.port())}
			}
		}
	}
	return commandText(argv), nil
}

// json is all of it as data.
func (s *script) json() (string, error) {
	env, sensitive := map[string]string{}, []string{}
	for name, value := range s.spec.Env {
		if env[name] = value; !s.shows && (steps.SecretName(name) || s.hides(value)) {
			env[name], sensitive = redact.Mark, append(sensitive, name)
		}
	}
	slices.Sort(sensitive)
	command := []string{}
	for _, arg := range s.spec.Command {
		command = append(command, s.secrets.Text(arg))
	}
	out := map[string]any{
		"plan": s.plan, "variant": s.variant, "engine": s.engine, "launcher": string(s.spec.How()), "stack": append([]string{}, s.stack...),
		"knobs": s.knobs, "env": env, "unset": append([]string{}, s.spec.Unset...), "command": command, "sensitive": sensitive,
		"notes": append([]string{}, s.notes...),
	}
	if s.spec.Dir != "" {
		out["dir"] = s.secrets.Text(s.spec.Dir)
	}
	if len(s.spec.Config) > 0 {
		out["config"] = map[string]string{"name": s.spec.ConfigName, "content": s.secrets.Text(string(s.spec.Config))}
	}
	if src := s.spec.Source; src != nil {
		out["source"] = map[string]any{"repo": src.Repo, "ref": src.Ref, "commit": src.Commit, "build": src.Build}
	}
	switch how := string(s.spec.How()); engine.How(how) {
	case engine.HowDocker:
		out[how] = s.secrets.Any(s.spec.Docker)
	case engine.HowCompose:
		out[how] = s.secrets.Any(s.spec.Compose)
	case engine.HowExec:
		out[how] = s.secrets.Any(s.spec.Exec)
	case engine.HowEndpoint:
		// Its keys are none of what reproduces the engine.
		out[how] = map[string]any{"url": s.secrets.Text(s.spec.Endpoint.URL), "restart": s.secrets.Any(s.spec.Endpoint.Restart)}
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(out)
	return text.String(), err
}
