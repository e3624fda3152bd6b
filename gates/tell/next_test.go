package tell

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestNext(t *testing.T) {
	differ := []verdict.Arg{verdict.Num("gap", 0.019, "share"), verdict.Num("spread", 0.022, "share"), verdict.Text("against", "baseline"), verdict.Int("launches", 12)}
	for want, r := range map[string]verdict.Reason{
		"decode: launches differ by 2.2%, and the estimate is 1.9% from the threshold. About 12 launches per arm would probably decide it (4 more). " +
			"Launches that differ less decide sooner: locked clocks, no other load, longer or more requests": verdict.New(code.NextLaunches, append(differ, verdict.Int("more", 4))...).On("decode"),
		"decode: launches differ by 2.2%, and the estimate is 1.9% from the threshold. About 12 launches per arm would probably decide it, and the plan makes at most 8: " +
			"allow more in the benchmark level or the decision block. Launches that differ less decide sooner: locked clocks, no other load, longer or more requests": verdict.New(code.NextLaunches, append(differ, verdict.Int("most", 8))...).On("decode"),
		"decode: launches differ by 2.2%, and the estimate is 1.9% from the threshold. Even 12 launches per arm would probably not decide it. " +
			"Make launches differ less: locked clocks, no other load, longer or more requests": verdict.New(code.NextSpread, differ...).On("decode"),
		"decode: 1 launch shows no launch-to-launch variance: allow at least 4 launches in the benchmark level": verdict.New(code.NextStarts, verdict.Int("launches", 1), verdict.Int("least", 4)).On("decode"),
		"this machine disturbed the measurement (machine slept). Apply again when nothing else runs on it":      verdict.New(code.NextQuiet).From(verdict.New(code.Watched, verdict.Text("text", "machine slept"))),
		"evidence is missing for chat.tg: not looked for":                                                       verdict.New(code.NextEvidence).On("chat.tg").From(verdict.New(code.NotLookedFor)),
	} {
		if got := Line(r); got != want {
			t.Errorf("%s\n%q, want\n%q", r.Code, got, want)
		}
	}
}
