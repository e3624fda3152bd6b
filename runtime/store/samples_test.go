package store

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// inventSample fills every field, so one that has no column comes back
// otherwise.
func inventSample(t *testing.T, rng *rand.Rand) measure.Sample {
	str := func() string {
		return []string{"", "chat.o32", "stop", "γεια\x00\xff", strings.Repeat("long ", rng.IntN(2000))}[rng.IntN(5)]
	}
	num := func() int {
		return []int{-1, 0, 1, rng.IntN(1 << 20), math.MaxInt, math.MinInt}[rng.IntN(6)]
	}
	var s measure.Sample
	fields := reflect.ValueOf(&s).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); {
		case f.Kind() == reflect.String:
			f.SetString(str())
		case f.Kind() == reflect.Bool:
			f.SetBool(rng.IntN(2) == 0)
		case f.CanInt():
			f.SetInt(int64(num()))
		case fields.Type().Field(i).Name != "Sent" && fields.Type().Field(i).Name != "Events":
			t.Fatalf("no way to invent the field %s", fields.Type().Field(i).Name)
		}
	}
	if rng.IntN(4) > 0 {
		s.Sent = time.Unix(rng.Int64N(1<<33)-1<<32, rng.Int64N(1e9)).UTC()
	}
	for range rng.IntN(4) * rng.IntN(60) {
		s.Events = append(s.Events, measure.Event{At: time.Duration(num()), Kind: measure.Kind(rng.IntN(256)), Tokens: num(), Bytes: num()})
	}
	return s
}

func TestSamplesRoundTrip(t *testing.T) {
	st := open(t, t.TempDir())
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var want []measure.Sample
		for range rng.IntN(4) * rng.IntN(60) {
			want = append(want, inventSample(t, rng))
		}
		l, again := &ledger.Launch{ID: "l", VariantKey: "v"}, &ledger.Launch{ID: "l", VariantKey: "v"}
		if err := errors.Join(st.WriteSamples("", l, want), st.WriteSamples("", again, want)); err != nil || again.Samples != l.Samples {
			t.Fatalf("seed %d: the same samples are other bytes: %s and %s, %v", seed, l.Samples, again.Samples, err)
		}
		got := must.Get(st.ReadSamples(l))(t)
		if !reflect.DeepEqual(got, want) {
			for i := range want {
				if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("seed %d, sample %d of %d: got %d samples\n%+v", seed, i, len(want), len(got), want[i])
				}
			}
			t.Fatalf("seed %d: %d samples instead of %d", seed, len(got), len(want))
		}
	}
}

func TestSamplesRefused(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.WriteSamples("", &ledger.Launch{}, []measure.Sample{{Sent: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}); err == nil {
		t.Error("stored a time that does not fit")
	}
	sum := must.Get(s.Put([]byte("no parquet")))(t)
	if _, err := s.ReadSamples(&ledger.Launch{Samples: sum}); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("got %v", err)
	}
}

// Damaged samples never reach the Parquet library.
func TestDamagedSamples(t *testing.T) {
	s := open(t, t.TempDir())
	l := &ledger.Launch{ID: "l"}
	must.Do(t, s.WriteSamples("", l, []measure.Sample{{Workload: "chat", Events: []measure.Event{{At: 1}}}}))
	path := s.artifact(l.Samples)
	whole := must.Get(os.ReadFile(path))(t)
	os.Chmod(path, 0o644)
	for i := 0; i < len(whole); i += 7 {
		bad := bytes.Clone(whole)
		bad[i] ^= 4
		must.Do(t, os.WriteFile(path, bad, 0o644))
		if _, err := s.ReadSamples(l); err == nil || !strings.Contains(err.Error(), "has digest") {
			t.Fatalf("byte %d: got %v", i, err)
		}
	}
}

// TestRawDataOfAnother: a file that another launch's record names is refused, whatever its
// digest, and so is one that names nobody.
func TestRawDataOfAnother(t *testing.T) {
	s := open(t, t.TempDir())
	make := func(run, id, arm string) *ledger.Launch {
		l := launch(run, id, arm, 1, true)
		if err := errors.Join(
			s.WriteSamples(run, l.Launch, []measure.Sample{{Workload: "chat"}}),
			s.WriteSeries(run, l.Launch, []measure.Series{{Name: measure.GPUPower, At: []time.Duration{1}, Value: []float64{1}}}),
		); err != nil {
			t.Fatal(err)
		}
		add(t, s, l)
		return l.Launch
	}
	own := make("r1", "s.a.1", "a")
	must.Get(s.ReadSamples(own))(t)
	must.Get(s.ReadSeries(own))(t)
	nobodys := &ledger.Launch{}
	must.Do(t, s.WriteSamples("", nobodys, nil))
	for key, other := range map[string]*ledger.Launch{"launch": make("r1", "s.a.2", "a"), "run": nobodys} {
		forged := *own
		forged.Samples, forged.Series = other.Samples, other.Series
		_, err := s.ReadSamples(&forged)
		if f, ok := errors.AsType[*verdict.Fault](err); !ok || f.Reason.Kind != "replay.raw_of_another" || f.Reason.Values["key"].Text != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	// The arms' roles exchanged: the record says another key than the file.
	exchanged := *own
	exchanged.VariantKey = "b"
	for _, read := range []func(*ledger.Launch) error{
		func(l *ledger.Launch) error { _, err := s.ReadSamples(l); return err },
		func(l *ledger.Launch) error { _, err := s.ReadSeries(l); return err },
	} {
		if f, ok := errors.AsType[*verdict.Fault](read(&exchanged)); !ok || f.Reason.Values["found"].Text != "a" || f.Reason.Values["wanted"].Text != "b" {
			t.Error(read(&exchanged))
		}
	}
}

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
	must.Do(t, s.WriteSamples("", l, []measure.Sample{{Workload: "chat"}}))
	if _, err := s.ReadSeries(&ledger.Launch{Series: l.Samples}); err == nil || !strings.Contains(err.Error(), "not mxflow's sampled series") {
		t.Errorf("samples read as series: %v", err)
	}
	must.Do(t, s.WriteSeries("", l, []measure.Series{{Name: "gpu.power_w"}}))
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
		data := must.Get(writeParquet(c.kind, Origin{}, c.rows))(t)
		sum := must.Get(s.Put(data))(t)
		if got, err := s.ReadSeries(&ledger.Launch{Series: sum}); err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
