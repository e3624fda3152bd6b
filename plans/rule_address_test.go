package plans

import (
	"fmt"
	"strings"
	"testing"
)

func describeInput(in *Input) string {
	s := string(in.Kind)
	for _, part := range []string{in.Feature, in.Cell, in.Metric, in.Stat, string(in.Relation)} {
		if part != "" {
			s += " " + part
		}
	}
	if in.Root {
		s += " of the root"
	}
	if in.Name != "" {
		s += " " + in.Name
	}
	return fmt.Sprintf("%s [%s %s]", s, in.Type, in.Unit)
}

func TestAddresses(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, address, want string }{
		{"criterion", "chat.tg", "metric first chat tg median [number tok/s]"},
		{"criterion", "chat.tg.median", "metric first chat tg median [number tok/s]"},
		{"criterion", `chat["tg"].p99`, "metric first chat tg p99 [number tok/s]"},
		{"criterion", "chat.tg.cv", "metric first chat tg cv [number ]"},
		{"criterion", "chat.tg.std", "metric first chat tg std [number tok/s]"},
		{"criterion", "chat.tg.n", "metric first chat tg n [number launches]"},
		{"criterion", "chat.tg.n_requests", "metric first chat tg n_requests [number requests]"},
		{"criterion", "chat.output_tokens.min", "metric first chat output_tokens min [number tokens]"},
		{"criterion", "chat.tg.gain", "metric first chat tg median gain [number ]"},
		{"criterion", "chat.ttft.change", "metric first chat ttft median change [number ]"},
		{"criterion", "chat.ttft.delta", "metric first chat ttft median delta [number ms]"},
		{"criterion", "chat.tg.base", "metric first chat tg median base [number tok/s]"},
		{"criterion", "chat.tg.base.p90", "metric first chat tg p90 base [number tok/s]"},
		{"criterion", "chat.tg.root", "metric first chat tg median base of the root [number tok/s]"},
		{"criterion", "chat.tg.root.max", "metric first chat tg max base of the root [number tok/s]"},
		{"criterion", "chat.tg.root.gain", "metric first chat tg median gain of the root [number ]"},
		{"criterion", "chat.tg.root.delta", "metric first chat tg median delta of the root [number tok/s]"},
		{"criterion", "outs.o32.tg", "metric first outs.o32 tg median [number tok/s]"},
		{"criterion", "outs.tg64.gain", "metric first outs.o64 tg median gain [number ]"},
		{"criterion", "lens.p128.o32.ttft.p50", "metric first lens.p128.o32 ttft p50 [number ms]"},
		{"criterion", "lens.p512.tg16", "metric first lens.p512.o16 tg median [number tok/s]"},
		{"criterion", "lens.p512.o16.pp512", "metric first lens.p512.o16 pp median [number tok/s]"},
		{"criterion", "chat.tg32", "metric first chat tg median [number tok/s]"},
		{"criterion", "chat.pp2048.root.change", "metric first chat pp median change of the root [number ]"},
		{"criterion", "engine.startup_s", "metric first startup_s median [number s]"},
		{"criterion", "engine.memory_gb.delta", "metric first memory_gb median delta [number GB]"},
		{"criterion", "engine.crashes.max", "metric first crashes max [number count]"},
		{"three", "chat.tg", "metric fourth chat tg median [number tok/s]"},
		{"three", `feature["second"].outs.tg32.gain`, "metric second outs.o32 tg median gain [number ]"},
		{"three", "feature.first.engine.startup_s", "metric first startup_s median [number s]"},
	} {
		p, errs := r.compile(c.address+" > 1", c.place)
		if len(errs) > 0 {
			t.Errorf("%s: %s: %s", c.address, errs[0].summary, errs[0].detail)
			continue
		}
		if got := describeInput(p.Inputs[0]); got != c.want {
			t.Errorf("%s: got %q, want %q", c.address, got, c.want)
		}
	}
}

func TestAddressesThatAreNoNumbers(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, rule, want string }{
		{"criterion", "levels.kernels == 'pass'", "level first kernels [word ]"},
		{"three", "levels.smoke in ['pass', 'inconclusive']", "level fourth smoke [word ]"},
		{"three", `feature["third"].verdict != 'fail'`, "feature third verdict [word ]"},
		{"three", `feature["third"].accepted`, "feature third accepted [bool ]"},
		{"three", `not feature["third"].accepted == true`, ""},
		{"three", `feature["third"].decided == true`, "feature third decided [bool ]"},
		{"criterion", "knob.moe == 'routed' and chat.tg > 1", "knob first moe [word ]; metric first chat tg median [number tok/s]"},
		{"criterion", "chat.tg >= target.llamacpp.chat.tg", "metric first chat tg median [number tok/s]; target llamacpp [number tok/s]"},
		{"criterion", "chat.tg.gain > 0.1 and chat.tg.gain < 0.5 or chat.tg > 5", "metric first chat tg median gain [number ]; metric first chat tg median [number tok/s]"},
	} {
		p, errs := r.compile(c.rule, c.place)
		if c.want == "" {
			if len(errs) == 0 {
				t.Errorf("%s compiles", c.rule)
			}
			continue
		}
		if len(errs) > 0 {
			t.Errorf("%s: %s: %s", c.rule, errs[0].summary, errs[0].detail)
			continue
		}
		var got []string
		for _, in := range p.Inputs {
			got = append(got, describeInput(in))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.rule, s, c.want)
		}
	}
}

func TestAddressesThatDoNotExist(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, address, want, hint string }{
		{"criterion", "chatt.tg", "Unknown name in a rule", `Did you mean "chat"?`},
		{"criterion", "var.least", "Unknown name in a rule", `"${var.least}" in place of var.least`},
		{"criterion", "each.value.least", "Unknown name in a rule", `"${each.value.least}"`},
		{"criterion", "chat", "Incomplete address", "chat.tg"},
		{"criterion", "chat.tgg", "Unknown metric", `Did you mean "tg"?`},
		{"criterion", "chat.tg33", "Unknown metric", ""},
		{"criterion", "chat.startup_s", "Unknown metric", ""},
		{"criterion", "chat.tg.mediam", "Unknown statistic", `Did you mean "median"?`},
		{"criterion", "chat.tg.p42", "Unknown statistic", ""},
		{"criterion", "chat.tg.median.gain", "Unknown address", "too much"},
		{"criterion", "chat.tg.p90.gain", "Unknown address", "chat.tg.p90 >= 1.05 * chat.tg.base.p90"},
		{"two", `feature["first"].chat.ttft.p90.change`, "Unknown address", `feature["first"].chat.ttft.p90 <= 1.05 * feature["first"].chat.ttft.base.p90`},
		{"criterion", "chat.tg.base.gain", "Unknown address", "without base"},
		{"criterion", "chat.tg.root.base.median", "Unknown address", ""},
		{"criterion", "chat.output_tokens.gain", "No better direction", ".change"},
		{"criterion", "outs.tg", "Which cell?", "outs.o32, outs.o64"},
		{"criterion", "lens.p128.tg", "Which cell?", "lens.p128.o16, lens.p128.o32"},
		{"criterion", "lens.tg16", "Which cell?", "lens.p128.o16, lens.p512.o16"},
		{"criterion", "lens.o16.p128.tg", "Unknown cell", "lens.p128.o16"},
		{"criterion", "outs.o33.tg", "Unknown cell", "outs.o32, outs.o64"},
		{"criterion", "outs.o32.o32.tg", "Unknown metric", ""},
		{"criterion", "unsent.tg", "Workload is not measured", "workload.unsent"},
		{"criterion", "engine.tg", "Unknown metric", "startup_s"},
		{"criterion", "engine", "Incomplete address", "startup_s"},
		{"criterion", "engine.startup_s.p99", "One value a launch", "engine.startup_s"},
		{"criterion", "engine.startup_s.n_requests", "One value a launch", ""},
		{"criterion", "engine.startup_s.std", "One value a launch", ""},
		{"criterion", "quality.kl.delta", "Not measured by this version", "levels.kernels"},
		{"criterion", "levels", "Incomplete address", "smoke, kernels"},
		{"criterion", "levels.kernel", "Level not in the protocol", `Did you mean "kernels"?`},
		{"criterion", "levels.kernels.verdict", "Incomplete address", ""},
		{"criterion", "knob.mow", "Unknown knob", "moe"},
		{"criterion", "target.llamacpp.chat", "Incomplete address", ""},
		{"criterion", "target.llama.chat.tg", "Unknown target", ""},
		{"criterion", "target.llamacpp.chat.ttft", "Target has no such number", ""},
		{"criterion", `feature["second"].verdict`, "Criterion reads another feature", "gate"},
		{"criterion", "verdict", "Whose value?", `feature["first"].verdict`},
		{"two", "chat.tg", "Whose value?", "2 features (second, third)"},
		{"empty", "chat.tg", "Whose value?", "no feature"},
		{"two", `feature["third"].outs.tg32`, "Workload is not measured", "quick"},
		{"two", `feature["third"].levels.kernels`, "Level not in the protocol", ""},
		{"two", `feature["fourth"].chat.tg`, "Feature not decided before this gate", "phase.three"},
		{"one", `feature["second"].decided`, "Feature not decided before this gate", ""},
		{"three", `feature["secnd"].chat.tg`, "Unknown feature", `Did you mean "second"?`},
		{"three", `feature["second"]`, "Incomplete address", ""},
		{"three", "feature", "Incomplete address", ""},
		{"three", `feature["second"].accepted.yes`, "Unknown address", ""},
		{"criterion", "$env", "Unknown name in a rule", ""},
		{"criterion", "v0", "Unknown name in a rule", ""},
	} {
		_, errs := r.compile(c.address+" > 1", c.place)
		if len(errs) != 1 || errs[0].summary != c.want || !strings.Contains(errs[0].detail, c.hint) {
			t.Errorf("%s: want %s (%s), got %v", c.address, c.want, c.hint, errs)
			continue
		}
		if got := mistakes(c.address+" > 1", errs); !strings.Contains(got, fmt.Sprintf("%q", strings.TrimSuffix(c.address, "]"))) {
			t.Errorf("%s: points elsewhere: %s", c.address, got)
		}
	}
}

func TestGatesReadWhatIsDecidedBefore(t *testing.T) {
	r := newRules(t)
	for place, visible := range map[string]string{"one": "first", "two": "first second third", "three": "first second third fourth", "empty": "first second third fourth"} {
		for _, f := range strings.Fields("first second third fourth") {
			_, errs := r.compile(fmt.Sprintf("feature[%q].decided", f), place)
			if ok := len(errs) == 0; ok != strings.Contains(visible, f) {
				t.Errorf("gate of %s, feature %s: visible %v", place, f, ok)
			}
		}
	}
}
