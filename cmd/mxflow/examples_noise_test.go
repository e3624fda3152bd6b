package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// cannotTell is what mxflow says where launches differ more than the effect, as they
// do on a machine with many times the work that it has processors for. That is no
// fault of the example, while every other verdict than its own is, and so is an
// inconclusive one for want of numbers.
var (
	cannotTell   = regexp.MustCompile(`inconclusive: .* (could not tell|that more would tell)`)
	lacksNumbers = regexp.MustCompile(`inconclusive: .* has no `)
)

// byNoise reports whether it ended without a verdict by the spread of launches alone.
func (a applied) byNoise() bool {
	return a.exit == "3" && cannotTell.MatchString(a.out) && !lacksNumbers.MatchString(a.out)
}

// noisyExamples are those that ended byNoise while others ran beside them.
type noisyExamples struct {
	mu   sync.Mutex
	list []examplePlan
}

func (n *noisyExamples) add(e examplePlan) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, e)
}

// again applies each once more, alone and from the start. Then it has to end as it
// says: only where something else than this test keeps the machine busy, noise is
// still an excuse.
func (n *noisyExamples) again(t *testing.T) {
	for _, e := range n.list {
		before, started := processors(t), time.Now()
		ended := e.apply(t)
		busy := processors(t).othersSince(before, ended.took, time.Since(started))
		switch {
		case ended.exit == e.wanted:
		case ended.excused(busy):
			t.Logf("%s is inconclusive twice, on a machine of which others took %.0f %%:\n%s", e.file, 100*busy, ended.out)
		default:
			t.Errorf("%s ended with %s when it was applied alone, after it was inconclusive beside others, want %s (others took %.0f %% of the machine):\n%s", e.file, ended.exit, e.wanted, 100*busy, ended.out)
		}
	}
}

// mostOfOthers is the share of the machine that others may take of a test that has
// to tell what it measures.
const mostOfOthers = 0.25

func (a applied) excused(others float64) bool { return a.byNoise() && others > mostOfOthers }

// processorTime is how long all processors together have worked since the start of
// the machine, and how many they are: none where the system does not say.
type processorTime struct {
	worked time.Duration
	number int
}

// processors reads the time of all processors, in hundredths of a second.
func processors(t *testing.T) processorTime {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{} // no Linux
	}
	return parseProcessors(string(text))
}

func parseProcessors(text string) (p processorTime) {
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return p
	}
	// user, nice, system, idle, iowait, irq, softirq, and stolen by other machines.
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return processorTime{}
		}
		if i != 3 && i != 4 {
			p.worked += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	p.number = strings.Count(text, "\ncpu")
	return p
}

// othersSince is the share of all processors that was taken since by others than
// those who took own; 0 where that cannot be told.
func (p processorTime) othersSince(before processorTime, own, wall time.Duration) float64 {
	if before.number == 0 || p.number == 0 || wall <= 0 {
		return 0
	}
	return max(0, float64(p.worked-before.worked-own)/float64(wall)/float64(p.number))
}

// An example may be excused for noise, and for nothing else, and only on a machine
// that others use.
func TestExamplesAreExcusedForNoiseOnly(t *testing.T) {
	const (
		spread = "feature.f: inconclusive: decode: 8 launches an arm could not tell"
		absent = "phase.p: inconclusive: memory: the engine has no engine.memory_gb"
	)
	stat := func(worked, idle string) string {
		return "cpu  " + worked + " 0 100 " + idle + " 7 0 0 0 0 0\ncpu0 1 0 0 0\ncpu1 1 0 0 0\nintr 1\n"
	}
	before := parseProcessors(stat("1000", "1000"))
	alone, shared := parseProcessors(stat("2100", "1900")), parseProcessors(stat("2800", "1200"))
	for _, tt := range []struct {
		name  string
		ended applied
		after processorTime
		want  bool
	}{
		{"noise beside others", applied{exit: "3", out: spread}, shared, true},
		{"noise alone", applied{exit: "3", out: spread}, alone, false},
		{"noise, and nobody knows", applied{exit: "3", out: spread}, parseProcessors("cpu 1 x"), false},
		{"no numbers", applied{exit: "3", out: absent}, shared, false},
		{"noise and no numbers", applied{exit: "3", out: spread + "\n" + absent}, shared, false},
		{"a fail", applied{exit: "2", out: spread}, shared, false},
		{"no words", applied{exit: "3"}, shared, false},
	} {
		if got := tt.ended.excused(tt.after.othersSince(before, 10*time.Second, 10*time.Second)); got != tt.want {
			t.Errorf("%s: excused %v", tt.name, got)
		}
	}
}
