package plans

import (
	"strings"
	"testing"

	"github.com/expr-lang/expr"
)

// sides shows a leaf by its texts, its unit, and whether it stands below a not.
func sides(p *Program) string {
	var list []string
	for _, l := range p.Leaves {
		s := l.Text + " {" + l.Left.Unit + "|" + l.Right.Unit + "}"
		if l.Negated {
			s = "not " + s
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

func TestLeaves(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		{"chat.tg.gain>=0.10", "chat.tg.gain >= 0.10 {ratio|}"},
		{"  levels.kernels   ==  'pass' ", "levels.kernels == 'pass' {|}"},
		{`levels.kernels in ["pass",'inconclusive']`, `levels.kernels in ["pass", 'inconclusive'] {|}`},
		{"levels.kernels not in ['fail']", "not levels.kernels in ['fail'] {|}"},
		{"not (chat.tg < 1 or not (chat.tg > 0x10))", "not chat.tg < 1 {tok/s|}; chat.tg > 0x10 {tok/s|}"},
		{"0.1 < chat.tg.gain <= 5_0", "0.1 < chat.tg.gain {|ratio}; chat.tg.gain <= 5_0 {ratio|}"},
		{"0 < (chat.tg + 1) < 9", "0 < chat.tg + 1 {|tok/s}; chat.tg + 1 < 9 {tok/s|}"},
		{"(chat.tg - 1) * -2 > chat.pp - (chat.tg - chat.pp)", "(chat.tg - 1) * -2 > chat.pp - (chat.tg - chat.pp) {tok/s|tok/s}"},
		{"((chat.tg)) / (chat.pp / 2) >= 1 - 0.5", "chat.tg / (chat.pp / 2) >= 1 - 0.5 {|}"},
		{"-(chat.tg + 1) < +1", "-(chat.tg + 1) < +1 {tok/s|}"},
		{"max( abs(chat.tg.delta),1, 2 ) > min(3, 4)", "max(abs(chat.tg.delta), 1, 2) > min(3, 4) {tok/s|}"},
		{"chat.tg.gain | max(0) > 0.1", "max(chat.tg.gain, 0) > 0.1 {ratio|}"},
		{"chat.tg >= 1.05 * target.llamacpp.chat.tg", "chat.tg >= 1.05 * target.llamacpp.chat.tg {tok/s|tok/s}"},
		{"chat.tg.gain * chat.tg > 1 /* a comment */", "chat.tg.gain * chat.tg > 1 {tok/s|}"},
		{"chat.tg.cv <= 0.05 && engine.crashes == 0", "chat.tg.cv <= 0.05 {ratio|}; engine.crashes == 0 {count|}"},
	} {
		p, errs := r.read(c.rule, "criterion")
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.rule, errs)
			continue
		}
		if got := sides(p); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.rule, got, c.want)
		}
	}
}

// What the reasons show and what the machine runs must be the same rule.
func TestProgramsSayWhatTheirLeavesSay(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct {
		rule string
		want bool
	}{
		{"chat.tg >= 10 and chat.pp < 20 - 5", true},
		{"chat.tg >= 10 and not (chat.pp < 20)", false},
		{"chat.tg - (3 - chat.pp) == 19", true},
		{"chat.tg / (chat.pp / 2) == 5/3", true},
		{"-chat.tg * 2 + 1 == -19", true},
		{"min(chat.tg, chat.pp, 11) == 10 or chat.tg < 0", true},
		{"10 <= chat.tg < 12 <= chat.pp <= 12.0", true},
		{"chat.tg > 9223372036854775807 + 1", false},
		{"chat.tg in [1, 10] and levels.smoke not in ['fail', 'inconclusive']", true},
		{"chat.tg not in [10]", false},
		{"levels.smoke != 'pass' || chat.tg == 10", true},
	} {
		p, errs := r.read(c.rule, "criterion")
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.rule, errs)
			continue
		}
		env := map[string]any{}
		values := func(in *Input) any {
			switch {
			case in.Type == WordInput:
				return "pass"
			case in.Metric == "pp":
				return 12.0
			}
			return 10.0
		}
		for _, in := range p.Inputs {
			env[in.Var] = values(in)
		}
		got, err := expr.Run(p.VM, env)
		if err != nil || got != c.want {
			t.Errorf("%s is %v (%v)", c.rule, got, err)
		}
		for _, l := range p.Leaves {
			for _, o := range []*Operand{l.Left, l.Right} {
				if v, err := o.Value(values); err != nil || v == nil {
					t.Errorf("%s: %s is %v (%v)", c.rule, o.Text, v, err)
				}
			}
		}
	}
}

func TestOperandsAreFiniteAtEveryStep(t *testing.T) {
	r := newRules(t)
	for _, rule := range []string{
		"1 / (1 / chat.tg) < 1",
		"min(1 / chat.tg, 5) > 1",
		"1 / (chat.pp * 1e300 * 1e300) < 1",
		"max(chat.tg / chat.tg, 1) >= 1",
		"abs(chat.tg / chat.tg) < 1",
	} {
		p, errs := r.read(rule, "criterion")
		if len(errs) > 0 {
			t.Errorf("%s: %v", rule, errs)
			continue
		}
		_, err := p.Leaves[0].Left.Value(func(in *Input) any {
			if in.Metric == "pp" {
				return 1e10
			}
			return 0.0
		})
		if err == nil || !strings.Contains(err.Error(), "not a finite number") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
