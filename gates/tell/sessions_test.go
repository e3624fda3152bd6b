package tell

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// said is a fact and what it reads as.
type said struct {
	reason verdict.Reason
	want   string
}

func check(t *testing.T, all []said) {
	t.Helper()
	for _, c := range all {
		if got := Line(c.reason); got != c.want {
			t.Errorf("%s says\n%s\nwant\n%s", c.reason.Key(), got, c.want)
		}
	}
}

// words are a fact in the words of another program.
func words(text string) verdict.Reason { return verdict.New(code.Broken, verdict.Text("error", text)) }

func TestSessions(t *testing.T) {
	share := func(name string, x float64) verdict.Arg { return verdict.Num(name, x, "share") }
	gained := []verdict.Arg{
		verdict.List("kernels", []string{"moe 1.5×", "norm 2×"}), verdict.Num("most", 0.108666, "ratio"), verdict.Num("saved", 312.667, "µs"),
		verdict.Num("step", 3190, "µs"), verdict.Text("phase", "decode"), verdict.Text("launch", "q-1"),
	}
	check(t, []said{
		{verdict.New(code.LaunchesPerArm, verdict.Int("n", 1)), "1 launch per arm"},
		{verdict.New(code.LaunchesPerArm, verdict.Int("n", 4)), "4 launches per arm"},
		{verdict.New(code.LaunchesPerArm, verdict.Int("n", 4), verdict.Int("most", 8)), "decided after 4 of up to 8 launches per arm"},
		{verdict.New(code.LaunchLost, verdict.Int("number", 3), verdict.Text("variant", "x")).On("s-1.x.2").From(words("the engine died"), words("and more")), "launch 3 (x): the engine died; and more"},
		{verdict.New(code.LaunchReplaced).On("s-1.x.2").From(words("shared GPU")), "launch s-1.x.2 was replaced: shared GPU"},
		{verdict.New(code.LaunchAgain).On("s-1.x.2").From(words("shared GPU"), words("throttled")), "shared GPU; throttled"},
		{verdict.New(code.CountsCrashes, verdict.List("launches", []string{"q-1", "s-2.x.1"})), "includes earlier starts that crashed: q-1, s-2.x.1"},
		{verdict.New(code.SessionClosed, verdict.Text("by", "kim"), verdict.Text("reason", "the prompts were cached")).On("feature.x"), "no launches are added to those of feature.x, which was retracted by kim: the prompts were cached; --rerun measures again"},
		{verdict.New(code.NotMeasured).From(verdict.New(code.Level).On("smoke").Is(verdict.Fail).From(words("no"))), "not measured: level smoke failed: no"},
		{verdict.New(code.NotMeasuredApart).From(words("x and y differ")), "not measured: x and y differ"},
		{verdict.New(code.NothingUnderTest, verdict.Text("parent", "baseline")), "nothing under test: the candidate is the same variant as baseline"},
		{verdict.New(code.ConfirmsNothing, verdict.Text("engine", "a.b"), verdict.Text("first", "a.c")).On("large"), "confirms nothing: with the knobs of large, engine.a.b starts exactly as engine.a.c does"},
		{verdict.New(code.OnlyBenchmark), "the protocol has no level other than the benchmark"},
		{
			verdict.New(code.Resolves, verdict.Int("few", 4), share("with_few", 0.02), verdict.Int("many", 8), share("with_many", 0.01), share("differ", 0.00501), share("differ_bound", 0.00602)).On("chat.tg"),
			"chat.tg: 4 launches per arm resolve 2%, 8 resolve 1% (launches vary by 0.5%, up to 0.6%)",
		},
		{
			verdict.New(code.Resolves, verdict.Int("few", 3), share("with_few", 0.02), verdict.Int("many", 8), share("with_many", 0.01), share("differ", 0.00501), share("differ_bound", 0.00602), share("clear", 0.35)).On("chat.tg"),
			"chat.tg: 3 launches per arm resolve 2%, 8 resolve 1%, 2 decide what is 35% beyond the threshold (launches vary by 0.5%, up to 0.6%)",
		},
		{verdict.New(code.ResolvesRounding).On("chat.tg"), "chat.tg: all recorded launches gave the same value: only rounding limits what they resolve"},
		{
			verdict.New(code.Unresolved, share("margin", 0.1), verdict.Int("launches", 8), share("resolves", 4.4)).On("chat.tg.gain >= 0.1"),
			"warning: chat.tg.gain >= 0.1 is 10% away from no change, and 8 launches per arm resolve 440%: expect inconclusive unless the effect is larger",
		},
		{
			verdict.New(code.Attainable, append(gained, verdict.Num("claimed", 0.1, "ratio"))...).On("chat.tg"),
			"chat.tg: at most +10.9% with moe 1.5×, norm 2× as fast, which takes 313 µs off a decode step of 3190 µs (profile of q-1)",
		},
		{
			// One of two numbers that look alike exceeds the other.
			verdict.New(code.Unattainable, append(gained, verdict.Num("claimed", 0.1089, "ratio"))...).On("chat.tg"),
			"warning: the hypothesis is out of reach: it claims +10.89% of chat.tg, and moe 1.5×, norm 2× as fast gives at most +10.87%, as it takes 313 µs off a decode step of 3190 µs (profile of q-1)",
		},
		{
			verdict.New(code.Unforeseen, gained[0]).On("chat.tg").From(verdict.New(code.NoKernels, verdict.List("has", []string{"dense_gemm", "attention"})).On("moe")),
			"chat.tg: unknown what moe 1.5×, norm 2× as fast can gain: the profile shows no moe kernels; it has dense_gemm, attention",
		},
		{verdict.New(code.NoPart, verdict.Int("requests", 1)).On("decode"), "the profile has no decode at 1 request at once whose steps are counted"},
		{
			verdict.New(code.Attainable, gained[0], gained[1], gained[2], verdict.Span("step", 3043, 4030, "µs"), gained[4], gained[5]).On("chat.tg"),
			"chat.tg: at most +10.9% with moe 1.5×, norm 2× as fast, which takes 313 µs off a decode step of 3043 µs to 4030 µs (profile of q-1)",
		},
		{verdict.New(code.Unprofiled).On("baseline"), "no profile of baseline is on record (level \"profile\" takes one)"},
	})
}

func TestRoughly(t *testing.T) {
	for want, x := range map[string]float64{"0.5%": 0.005, "2.7%": 0.0272, "99%": 0.99, "100%": 1, "290%": 2.9, "44000%": 440, "1e+10%": 1e8} {
		if got := roughly(verdict.Num("", x, "share").Value); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// TestSwap: every sentence goes through it, including those of causes, until it is
// restored.
func TestSwap(t *testing.T) {
	r := verdict.New(code.NotMeasured).From(words("no"))
	restore := Swap(func(c code.Code, sentence string) string { return "<" + string(c) + ">" + sentence })
	if got, want := Line(r), "<session.not_measured>not measured: <broken>no"; got != want {
		t.Errorf("swapped: %q, want %q", got, want)
	}
	restore()
	if got, want := Line(r), "not measured: no"; got != want {
		t.Errorf("restored: %q, want %q", got, want)
	}
}
