package plans

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWarningsPointAtTheComparison looks where comments of a fixture cannot be.
func TestWarningsPointAtTheComparison(t *testing.T) {
	for _, c := range []struct{ attribute, want string }{
		{"  rule = <<-EOT\n    levels.kernels == 'pass'\n      and chat.ttft <= 0.5\n  EOT", "60:11-27 Implausible for the unit"},
		{`  rule = "chat.tg > 0 and \u0063hat.ttft <= 0.5"`, "58:11-22 Comparison always holds; 58:27-48 Implausible for the unit"},
		{`  rule = "chat.tg.gain >= ${10}"`, "58:11-32 Implausible for the unit"},
	} {
		var got []string
		for _, d := range loadRule(c.attribute).Diagnostics {
			if !strings.HasPrefix(d.Summary, "Unused") && d.Summary != "Nothing is qualified" {
				got = append(got, fmt.Sprintf("%d:%d-%d %s", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, d.Summary))
			}
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.attribute, s, c.want)
		}
	}
}

// TestWarningsInYAML: the places are those of the YAML file.
func TestWarningsInYAML(t *testing.T) {
	src := `plan: {p: {}}
engine: {embedded: {tiny: {}}}
workload:
  chat: {prompt_tokens: 8, output_tokens: 8}
knob:
  moe:
    default: all
    value: {all: {}, routed: {}}
protocol:
  quick:
    level: {smoke: {prompt: "?", expect: "!"}, benchmark: {workloads: [workload.chat]}}
baseline: {engine: engine.embedded.tiny, protocol: protocol.quick}
phase:
  port:
    feature:
      routed:
        set: {moe: routed}
        criterion:
          plain: {rule: chat.tg.gain >= 0.1 and chat.ttft <= 0.5}
          quoted: {rule: 'chat.pp.gain >= 0.1 and levels[''x''] == 1 '}
          block:
            rule: >
              chat.e2e.gain >= 0.1
                and chat.ttft <= 0.25
`
	broken := LoadBytes("plan.yaml", []byte(src), testRegistry(), Options{})
	if got := places(broken); got != "20:51-62 Level not in the protocol" {
		t.Errorf("got %s\n%s", got, broken.text())
	}
	sound := LoadBytes("plan.yaml", []byte(strings.Replace(src, "levels[''x''] == 1 ", "chat.tg < 0", 1)), testRegistry(), Options{})
	if got := places(sound); got != "19:49-65 Implausible for the unit; 20:51-62 Comparison can never hold; 24:21-38 Implausible for the unit" {
		t.Errorf("got %s\n%s", got, sound.text())
	}
}

func places(r *Result) string {
	var list []string
	for _, d := range r.Diagnostics {
		list = append(list, fmt.Sprintf("%d:%d-%d %s", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, d.Summary))
	}
	return strings.Join(list, "; ")
}

// TestIncludedBlocksMayBeUnused: what a team keeps in one place serves several
// plans.
func TestIncludedBlocksMayBeUnused(t *testing.T) {
	dir := t.TempDir()
	shared := "engine \"openai\" \"spare\" {\n  process {\n    command = [\"serve\"]\n  }\n}\n"
	for name, text := range map[string]string{"shared.hcl": shared, "plan.hcl": "include = [\"shared.hcl\"]\n" + rulePlan} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res := Load(filepath.Join(dir, "plan.hcl"), testRegistry(), Options{})
	if got := summaries(res); got != "Unused workload | Nothing is qualified" {
		t.Errorf("got %s\n%s", got, res.text())
	}
}

// TestAllRivals: all that try values of one knob are named, in one warning.
func TestAllRivals(t *testing.T) {
	src, err := os.ReadFile("testdata/warnings/rivals.hcl")
	if err != nil {
		t.Fatal(err)
	}
	again := `feature "routed_again" {
    set = { moe = "routed" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
}
`
	text := strings.TrimSuffix(strings.TrimSpace(string(src)), "}") + again
	res := LoadBytes("rivals.hcl", []byte(text), testRegistry(), Options{})
	var details []string
	for _, d := range res.Diagnostics {
		if d.Summary == "Rivals for one knob" {
			details = append(details, d.Detail)
		}
	}
	if len(details) != 1 || !strings.Contains(details[0], `Features "routed", "grouped" and "routed_again" try`) || !strings.HasSuffix(details[0], `choose = { moe = ["routed", "grouped"] }.`) {
		t.Errorf("%q", details)
	}
}
