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
		got, err := st.ReadSamples(l)
		if err != nil {
			t.Fatal(err)
		}
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
	sum, err := s.Put([]byte("no parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadSamples(&ledger.Launch{Samples: sum}); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("got %v", err)
	}
}

// Damaged samples never reach the Parquet library.
func TestDamagedSamples(t *testing.T) {
	s := open(t, t.TempDir())
	l := &ledger.Launch{ID: "l"}
	if err := s.WriteSamples("", l, []measure.Sample{{Workload: "chat", Events: []measure.Event{{At: 1}}}}); err != nil {
		t.Fatal(err)
	}
	path := s.artifact(l.Samples)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o644)
	for i := 0; i < len(whole); i += 7 {
		bad := bytes.Clone(whole)
		bad[i] ^= 4
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
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
	if _, err := s.ReadSamples(own); err != nil {
		t.Error(err)
	}
	if _, err := s.ReadSeries(own); err != nil {
		t.Error(err)
	}
	nobodys := &ledger.Launch{}
	if err := s.WriteSamples("", nobodys, nil); err != nil {
		t.Fatal(err)
	}
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
