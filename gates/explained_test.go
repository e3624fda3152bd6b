package gates

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// TestTestsExplainThemselves: what a test says of itself is what was tested.
func TestTestsExplainThemselves(t *testing.T) {
	s := noiseless("chat.tg")
	s.Noise["chat.tg"] = Noise{SD: 0.004, DF: 9}
	ev := full()
	ev.Features["f"].Candidate.Launches = append(ev.Features["f"].Candidate.Launches, medians("f", 1, 1, 1, 1, 38.5).Launches[4])
	got := Decide([]*plans.Rule{compiled(t, "chat.tg.gain >= 0.10"), compiled(t, "chat.tg.gain < 0.5")}, ev, s)[0]
	test := got.Comparisons[0].Test
	if test.Metric != "chat.tg" || test.Stat != "median" || test.Unit != "tok/s" || test.Arm != "f" || test.Against != "baseline" || !test.More {
		t.Errorf("%+v", test)
	}
	if test.Threshold != 0.10 || math.Abs(test.Theta-math.Log(1.1)) > 1e-15 || test.Pass != 0.002 || test.Fail != 0.0075 || !slices.Equal(test.Share, []verdict.Share{{Of: verdict.ShareAll, N: 2}}) || test.Relation != "gain" || test.Saved || test.Negated {
		t.Errorf("%+v", test)
	}
	if test.Floor != 0.004 || test.FloorDF != 9 || fmt.Sprint(test.Plan) != "[3 4 6 8]" || test.First != 3 || test.Stop != verdict.StopPass || len(test.Looks) != 1 {
		t.Errorf("%+v", test)
	}
	if len(test.Values) != 4 || len(test.Base) != 4 || fmt.Sprint(test.Launches, test.BaseLaunches, test.Rounds, test.Unpaired) != "[f.1 f.2 f.3 f.4] [baseline.1 baseline.2 baseline.3 baseline.4] [1 2 3 4] [f.5]" {
		t.Errorf("%+v", test)
	}
	if text := tell.Line(got.Reasons[0]); !strings.Contains(text, "3 launches an arm") || !strings.HasSuffix(text, "and not counted: f.5") {
		t.Error(text)
	}
	// It survives being written: nothing in it is infinite.
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back verdict.Rule
	if err := json.Unmarshal(data, &back); err != nil || fmt.Sprint(*back.Comparisons[0].Test.Low) != fmt.Sprint(*test.Low) {
		t.Error(err, back)
	}
}
