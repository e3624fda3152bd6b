package plans

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChosenFeatures: what a plan says in a few words, written out for those who
// measure and decide.
func TestChosenFeatures(t *testing.T) {
	p := mustLoad(t, "testdata/valid/choose.hcl")
	f := p.Feature("speculation")
	var got []string
	for _, c := range append(append([]*Feature(nil), f.Alternatives...), f.Confirm...) {
		got = append(got, fmt.Sprint(c.Name, " ", c.Set, " ", c.Engine, " ", c.Accept))
		if c.Of != "speculation" || c.Phase != f.Phase || c.Protocol != f.Protocol || c.BuildsOn != f.BuildsOn || len(c.Alternatives)+len(c.Confirm) > 0 || c.Choose != nil {
			t.Errorf("%s: %+v", c.Name, c)
		}
		for _, r := range c.Criteria {
			if r.Program == nil || r.Program.Inputs[0].Feature != "speculation" {
				t.Errorf("%s: criterion %s is not the feature's own", c.Name, r.Name)
			}
		}
	}
	want := `speculation[short] map[cache:on spec:short]  [decode]
speculation[long] map[cache:on spec:long]  [decode]
speculation@embedded.large map[cache:on] embedded.large [decode]
speculation@vllm.large map[cache:on] vllm.large [memory]
speculation@other map[cache:on] vllm.other [decode]`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if n := len(f.Confirm[1].Criteria); n != 1 {
		t.Errorf("%d criteria are repeated, not the one named", n)
	}
	if c := f.Choose; c.Prefer != "chat.ttft" || c.Probe.Expr != "chat.ttft.gain > 0" {
		t.Errorf("prefer: %+v", c)
	}
	if c := p.Feature("preferred_by_default").Choose; c.Prefer != "chat.tg" || c.Probe == nil {
		t.Errorf("prefer without being said: %+v", c)
	}
	if f := p.Feature("speculation[short]"); f != nil {
		t.Error("an alternative is no feature that rules could name")
	}
}

// TestDigestOfChoices: the order of what is tried does not count, what is tried
// does.
func TestDigestOfChoices(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/choose.hcl")
	if err != nil {
		t.Fatal(err)
	}
	digest := func(changes ...string) string {
		t.Helper()
		changed := strings.NewReplacer(changes...).Replace(string(text))
		if len(changes) > 0 && changed == string(text) {
			t.Fatalf("%q changes nothing", changes)
		}
		path := filepath.Join(t.TempDir(), "plan.hcl")
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		return mustLoad(t, path).Digest()
	}
	plain := digest()
	for name, c := range map[string]struct {
		changes []string
		same    bool
	}{
		"order of values":         {[]string{`["short", "long"]`, `["long", "short"]`}, true},
		"prefer written out":      {[]string{"    accept = [\"decode\"]\n\n    criterion \"level\"", "    accept = [\"decode\"]\n    prefer = \"chat.tg\"\n\n    criterion \"level\""}, true},
		"another value":           {[]string{`{ spec = ["short", "long"] }`, `{ spec = ["short", "long", "longer"] }`, `value "long" {`, "value \"longer\" {}\n  value \"long\" {"}, false},
		"another prefer":          {[]string{`prefer = "chat.ttft"`, `prefer = "chat.tg"`}, false},
		"another confirmation":    {[]string{"engine = engine.vllm.other", "engine = engine.vllm.other\n      criteria = [\"memory\"]"}, false},
		"one confirmation less":   {[]string{"    confirm {\n      engine = engine.vllm.other\n    }\n", ""}, false},
		"confirmed as by default": {[]string{"engine = engine.vllm.other", "engine = engine.vllm.other\n      criteria = [\"decode\"]"}, true},
	} {
		if got := digest(c.changes...); (got == plain) != c.same {
			t.Errorf("%s: same digest is %v", name, got == plain)
		}
	}
}

// TestConfirmationOfCommands: two commands can confirm each other where they print
// the same metrics, and a server can confirm none.
func TestConfirmationOfCommands(t *testing.T) {
	metric := func(name, unit, better string) *Block {
		return &Block{Kind: "metric", Name: name, Attrs: map[string]any{"unit": unit, "better": better}}
	}
	command := func(name string, metrics ...*Block) *Engine {
		return &Engine{Kind: commandKind, Name: name, Parts: map[string][]*Block{"metric": metrics}}
	}
	for name, c := range map[string]struct {
		other *Engine
		want  string
	}{
		"the same metrics": {command("other", metric("tg", "tok/s", "higher"), metric("more", "", "")), ""},
		"a metric less":    {command("other"), "has to declare metric \"tg\""},
		"another unit":     {command("other", metric("tg", "tok/h", "higher")), "has to declare metric \"tg\""},
		"turned around":    {command("other", metric("tg", "tok/s", "lower")), "has to declare metric \"tg\""},
		"a server":         {&Engine{Kind: "vllm", Name: "other"}, "is a command and the other a server"},
	} {
		first := command("first", metric("tg", "tok/s", "higher"))
		l := newLoader("plan.hcl", testRegistry(), Options{})
		l.plan.Engines = []*Engine{first, c.other}
		l.plan.Baseline = &Baseline{Engine: "command.first"}
		f := &Feature{Name: "f"}
		notes := &featureNotes{feature: f}
		notes.confirms = []confirmNote{{confirm: &Feature{Name: "f@other", Of: "f", Engine: c.other.Kind + ".other"}}}
		l.checks.order = []*featureNotes{notes}
		l.checks.features["f"] = notes
		l.checkConfirmations()
		var got []string
		for _, d := range l.diags {
			got = append(got, d.Detail)
		}
		if text := strings.Join(got, "\n"); text != c.want && (c.want == "" || !strings.Contains(text, c.want)) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
