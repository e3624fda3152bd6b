package store

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestSeriesRoundTrip(t *testing.T) {
	st := open(t, t.TempDir())
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var want []measure.Series
		for range rng.IntN(20) {
			s := measure.Series{
				Name: []string{measure.GPUPower, "engine.running", ""}[rng.IntN(3)], Source: []string{"", "GPU-0", `position="1"`}[rng.IntN(3)], Unit: []string{"W", ""}[rng.IntN(2)],
			}
			for range 1 + rng.IntN(3000) {
				s.At = append(s.At, time.Duration(rng.Int64()-rng.Int64()))
				s.Value = append(s.Value, []float64{0, math.Copysign(0, -1), rng.NormFloat64(), math.MaxFloat64, math.Inf(1)}[rng.IntN(5)])
			}
			want = append(want, s)
		}
		l, again := &ledger.Launch{ID: "l"}, &ledger.Launch{ID: "l"}
		if err := errors.Join(st.WriteSeries("", l, want), st.WriteSeries("", again, want)); err != nil || again.Series != l.Series {
			t.Fatalf("seed %d: the same series are other bytes: %s and %s, %v", seed, l.Series, again.Series, err)
		}
		got, err := st.ReadSeries(l)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %d series of %d came back, %v", seed, len(got), len(want), err)
		}
	}
}

func TestSeriesRefused(t *testing.T) {
	s := open(t, t.TempDir())
	l := &ledger.Launch{}
	if err := s.WriteSeries("", l, []measure.Series{{Name: "gpu.power_w", At: []time.Duration{1, 2}, Value: []float64{1}}}); err == nil || !strings.Contains(err.Error(), "gpu.power_w") {
		t.Errorf("uneven series: %v", err)
	}
	if err := s.WriteSamples("", l, []measure.Sample{{Workload: "chat"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadSeries(&ledger.Launch{Series: l.Samples}); err == nil || !strings.Contains(err.Error(), "not mxflow's sampled series") {
		t.Errorf("samples read as series: %v", err)
	}
	if err := s.WriteSeries("", l, []measure.Series{{Name: "gpu.power_w"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ReadSeries(l); err != nil || len(got) != 0 {
		t.Errorf("a series without readings came back as %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		kind parquetKind
		rows []measure.Series
		want string
	}{
		"uneven":  {seriesKind, []measure.Series{{Name: "a", At: []time.Duration{1, 2}, Value: []float64{1}}}, "2 times but 1 values"},
		"version": {parquetKind{seriesKind.key, seriesKind.what, "9"}, []measure.Series{{Name: "a"}}, "version 9, but this mxflow reads 3: use a newer mxflow"},
	} {
		data, err := writeParquet(c.kind, Origin{}, c.rows)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := s.Put(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.ReadSeries(&ledger.Launch{Series: sum}); err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
