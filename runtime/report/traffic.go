package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Traffic is what was sent of a trace, and what was left out or cut.
func Traffic(t *measure.TraceRun) string {
	length := time.Duration(t.Seconds * float64(time.Second)).Round(time.Millisecond)
	if length > 10*time.Second {
		length = length.Round(time.Second)
	}
	text := fmt.Sprintf("%s of %s in %s", verdict.Count(t.Requests, "request"), t.Format, length)
	if t.Conversations < t.Requests {
		text += fmt.Sprintf(", in %s", verdict.Count(t.Conversations, "conversation"))
	}
	if t.Speed != 1 {
		text += fmt.Sprintf(", %g× as fast as recorded", t.Speed)
	}
	parts := []string{text}
	// A later turn begins with what the conversation came to, which only the answers show.
	if t.PromptTokens > 0 && t.Texts == 0 && (t.SharedTokens > 0 || t.Conversations == t.Requests) {
		parts = append(parts, verdict.Number(float64(t.SharedTokens)/float64(t.PromptTokens), "share")+
			" of prompt tokens begin an earlier prompt")
	}
	if t.Cut > 0 {
		parts = append(parts, fmt.Sprintf("%s cut to %d tokens, %s of all prompt tokens lost",
			verdict.Count(t.Cut, "prompt"), t.CutTo,
			verdict.Number(float64(t.CutTokens)/float64(t.CutTokens+t.PromptTokens), "share")))
	}
	for why, n := range sorted.All(t.Skipped) {
		parts = append(parts, fmt.Sprintf("%s left out: %s", verdict.Count(n, "row"), why))
	}
	return strings.Join(parts, "; ")
}

// Flight is how many requests of a trace both arms of a port had in flight, each in its last launch.
type Flight struct {
	Cell  string
	Trace *measure.TraceRun
	// Arms are the variants, the parent first, and InFlight their numbers, Every so many seconds from the first
	// arrival.
	Arms     [2]string
	Every    float64
	InFlight [2][]int
}

// Flights are those of a port by cell, at so many times; none without raw data of both arms.
func (s *Summary) Flights(p *Port, times int) (all []Flight) {
	pair := p.Pair()
	if pair == nil {
		return nil
	}
	old, is := pair.Old.Launches[len(pair.Old.Launches)-1], pair.New.Launches[len(pair.New.Launches)-1]
	for _, c := range old.Cells {
		i := slices.IndexFunc(is.Cells, func(of measure.CellRun) bool { return of.Cell == c.Cell })
		if i < 0 || c.Trace == nil {
			continue
		}
		before, err := s.Store.ReadSamples(old)
		after, wrong := s.Store.ReadSamples(is)
		if err != nil || wrong != nil {
			continue
		}
		every := max(c.To-c.From, is.Cells[i].To-is.Cells[i].From) / time.Duration(times)
		all = append(all, Flight{
			c.Cell, c.Trace,
			[2]string{pair.Old.Variant, pair.New.Variant},
			every.Seconds(),
			[2][]int{measure.InFlight(c, before, every, times), measure.InFlight(is.Cells[i], after, every, times)},
		})
	}
	return all
}

// trafficRows are how many times a table has.
const trafficRows = 8

// TrafficBlocks are a table of each trace that a port was measured with: how requests queued over time.
func (s *Summary) TrafficBlocks(p *Port) (blocks []Block) {
	for _, f := range s.Flights(p, trafficRows) {
		b := Block{
			Title: "Requests of " + f.Cell + " in flight, in the last launch of each",
			Notes: []string{f.Trace.File + ": " + Traffic(f.Trace) + "."},
			Table: Table{Head: []string{"Seconds", f.Arms[0], f.Arms[1]}},
		}
		for i := range trafficRows {
			b.Rows = append(b.Rows, []string{
				verdict.Number(float64(i)*f.Every, ""), fmt.Sprint(f.InFlight[0][i]), fmt.Sprint(f.InFlight[1][i]),
			})
		}
		blocks = append(blocks, b)
	}
	return blocks
}
