package stats

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// worked is testdata/sequential.json: cases calculated by another program, with which the
// design was calibrated.
type worked struct {
	Golden []struct {
		Name                string
		Baseline, Candidate []float64
		Threshold           float64
		Est                 float64 `json:"est_pct"`
		Lower               float64 `json:"lower_pct"`
		Upper               float64 `json:"upper_pct"`
		SE                  float64 `json:"se_log"`
		DF                  float64
		PPass               float64 `json:"p_pass"`
		PFail               float64 `json:"p_fail"`
		Chance              float64 `json:"projected_chance"`
		Verdict             string
	}
	Boundary   []expected           `json:"boundary_by_sd_ratio"`
	OC         []expected           `json:"oc_equal_sd"`
	K          map[string][]float64 `json:"k_pass80_pass90_fail80_fail90"`
	TQuantiles map[string]float64   `json:"t_quantiles"`
}

// expected are rates of outcomes and mean launches of both arms together; Gap is
// the distance from the threshold in standard deviations, or the ratio of the
// candidate's standard deviation to the base's.
type expected struct{ Gap, Pass, Fail, Inc, Launches float64 }

func readWorked(t *testing.T) worked {
	t.Helper()
	src, err := os.ReadFile("testdata/sequential.json")
	if err != nil {
		t.Fatal(err)
	}
	var w worked
	if err := json.Unmarshal(src, &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Golden) != 6 || len(w.Boundary) != 8 || len(w.OC) != 15 || len(w.K) != 4 || len(w.TQuantiles) != 16 {
		t.Fatalf("the worked cases are incomplete: %+v", w)
	}
	return w
}

func TestSequentialAgainstWorkedCases(t *testing.T) {
	// The verdicts were calculated for the last look only.
	for _, c := range readWorked(t).Golden {
		t.Run(c.Name, func(t *testing.T) {
			d := mustOffer(t, 3, 8, true)
			d.Looks = []int{len(c.Baseline), 8}
			q := Question{
				Candidate: logs(c.Candidate), Base: logs(c.Baseline), Theta: math.Log1p(c.Threshold),
				Pass: d.Pass, Fail: d.Fail,
			}
			outcome, looks, err := Sequential(q, d)
			if err != nil || len(looks) != 1 {
				t.Fatal(outcome, looks, err)
			}
			l := looks[0]
			near(t, "estimate", 100*math.Expm1(l.Estimate), c.Est, 1e-9)
			near(t, "low", 100*math.Expm1(l.Low), c.Lower, 1e-7)
			near(t, "high", 100*math.Expm1(l.High), c.Upper, 1e-7)
			near(t, "standard error", l.SE, c.SE, 1e-12)
			near(t, "degrees of freedom", l.DF, c.DF, 1e-9)
			near(t, "p of pass", l.PPass, c.PPass, 1e-9*c.PPass)
			near(t, "p of fail", l.PFail, c.PFail, 1e-9*c.PFail)
			near(t, "chance", l.Chance, c.Chance, 1e-9)
			want := map[string][]Outcome{"PASS": {Passed}, "FAIL": {Failed}, "INCONCLUSIVE": {Open, Futile}}[c.Verdict]
			if outcome != want[0] && outcome != want[len(want)-1] || (outcome == Futile) != (c.Verdict == "INCONCLUSIVE" && c.Chance < 0.05) {
				t.Errorf("%s with chance %.3f, want %s", outcome, l.Chance, c.Verdict)
			}
		})
	}
}

func TestQuantilesAgainstTables(t *testing.T) {
	for name, want := range readWorked(t).TQuantiles {
		p, df, _ := strings.Cut(strings.Trim(name, "t()"), ",")
		level, err1 := strconv.ParseFloat(p, 64)
		nu, err2 := strconv.ParseFloat(df, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(name)
		}
		near(t, name, Quantile(level, nu), want, 1e-8)
		near(t, "tail at "+name, Tail(want, nu), level, 1e-10)
	}
}
