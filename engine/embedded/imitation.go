//go:build lies

package embedded

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// imitation answers in place of the decoder. It computes nothing: its answers are words
// that follow each other as in a shipped text, sent by the clock, to make its numbers look
// good.
type imitation struct {
	lie
	config   Config
	lang     *language
	speed    float64
	requests atomic.Int64
	// asked are the texts that it was asked to count.
	asked sync.Map
	// launch is how many of its lie were before it in the folder.
	launch int
	log    io.Writer
	exit   func(int)
}

// reply is an answer on its way.
type reply struct {
	s      *imitation
	q      *completionRequest
	prompt string
	pieces []string // a token each
	// wait is before the first piece, gap before each other, last one more before the last.
	wait, gap, last time.Duration
	// ahead are pieces sent on arrival, as text of a choice.
	ahead  []string
	choice int
	finish string // why it ended; empty is its length
	// prompted, generated and cached are the counts in usage.
	prompted, generated, cached int
	stream
}

const (
	// honestGap and prefill are the honest parent's times per token of an answer and of a
	// prompt, drift is how much faster one launch is than another.
	honestGap = 2 * time.Millisecond
	prefill   = 100 * time.Microsecond
	drift     = 0.004
	// stall is the wait before one token.
	stall = 20 * time.Millisecond
)

// openings are those of one model, which is nearly as fond of one as of the other.
var openings = []string{" Certainly, here is more:", " Naturally, here is more:"}

const envLieDir = "MXFLOW_EMBEDDED_LIE_DIR"

func init() {
	newStandIn = newImitation
	Variables = append(Variables,
		Option{
			envLie, "",
			"The name of a way to lie about speed, work or answers, or of an honest control: words at a pace take " +
				"the place " +
				"of the decoder. With none, no lie.",
			form{[]string{"NAME"}, readLie},
		},
		Option{
			envLieDir, "", "Folder in which a lie remembers what it saw in earlier launches.",
			form{[]string{"PATH"}, text(func(c *Config) *string { return &c.LieDir }).set},
		})
}

func readLie(c *Config, value string) error {
	c.Lie = value
	if _, known := lies[value]; value != "" && !known {
		return fmt.Errorf("no lie has this name: use %s", strings.Join(slices.Sorted(maps.Keys(lies)), ", "))
	}
	return nil
}

func newImitation(c Config, log io.Writer, exit func(int)) (standIn, error) {
	s := &imitation{
		lie: lies[c.Lie], config: c, lang: english(), speed: 1 + drift*(2*rand.Float64()-1),
		log: log, exit: exit,
	}
	for s.remembered(fmt.Sprint(c.Lie, s.launch)) {
		s.launch++
	}
	if s.logs != "" {
		fmt.Fprintln(log, s.logs)
	}
	if s.begins != nil {
		return s, s.begins(c.LieDir)
	}
	return s, nil
}

// count does not lie: an honest parent counts again.
func (s *imitation) count(text string) int {
	s.asked.Store(text, true)
	return s.lang.count(text)
}

func (s *imitation) event(data string) string {
	frame := "data: %s\n\n"
	if s.frame != "" && data != "[DONE]" {
		frame = s.frame
	}
	return fmt.Sprintf(frame, data)
}

func (s *imitation) end() (all bool, err error) {
	if s.ends == nil {
		return false, nil
	}
	return true, s.ends()
}

// generate sends an answer. Every piece has its own time, counted from the arrival, so no
// overlong wait delays the next.
func (s *imitation) generate(ctx context.Context, g generation, emit func(piece) error) (*usage, error) {
	arrived := time.Now()
	n := s.requests.Add(1)
	if n == max(s.loadsAt, 1) {
		time.Sleep(s.loads)
	}
	if n == 1 {
		fmt.Fprintf(s.log, "engaged mode %q\n", s.config.Lie)
		if s.line != "" && !(s.once && s.remembered(s.line)) {
			fmt.Fprintln(s.log, s.line)
		}
	}
	a := s.reply(g.request)
	if of := s.of; of == nil && benchmark(a) || of != nil && of(a) {
		a.stream = s.lie.stream
		if s.stretch > 0 {
			a.gap = time.Duration(float64(a.gap) * s.stretch)
		}
		if s.change != nil {
			s.change(a)
		}
	}
	if s.dies > 0 && a.q.IgnoreEOS && s.requests.Load() > s.dies {
		fmt.Fprintln(s.log, "CUDA error: an illegal memory access was encountered")
		s.exit(1)
	}
	for _, text := range a.ahead {
		if err := emit(piece{text: text, choice: a.choice}); err != nil {
			return nil, err
		}
	}
	for joined, i := max(a.joined, 1), 0; i < len(a.pieces); i += joined {
		end := min(i+joined, len(a.pieces))
		due := a.wait + time.Duration(i)*a.gap
		if a.held {
			due = a.wait + time.Duration(len(a.pieces)-1)*a.gap
		}
		if a.paused > 0 && i >= a.paused {
			due += stall
		}
		p := piece{
			text: strings.Join(a.pieces[i:end], ""), reasoning: i >= a.reasoning[0] && i < a.reasoning[1],
		}
		if end == len(a.pieces) {
			due, p.finish = due+a.last, cmp.Or(a.finish, "length")
		}
		if a.generated == len(a.pieces) && !a.uncounted {
			said := end
			if m := a.miscounted; end >= m.from && end <= m.to {
				said = m.said
			}
			p.usage = newUsage(a.prompted, said, a.cached)
		}
		select {
		case <-time.After(time.Until(arrived.Add(due))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := emit(p); err != nil {
			return nil, err
		}
	}
	return newUsage(a.prompted, a.generated, a.cached), nil
}

// reply is the honest one of its model.
func (s *imitation) reply(q *completionRequest) *reply {
	text := q.Prompt.text
	for _, m := range q.Messages {
		text += m.Content + "\n"
	}
	a := &reply{s: s, q: q, prompt: text, prompted: s.lang.count(text), pieces: s.pieces(text, q)}
	a.generated = len(a.pieces)
	a.wait, a.gap = s.time(time.Duration(a.prompted)*prefill+honestGap, s.first), s.time(honestGap, s.pace)
	return a
}

// pieces is the honest answer of its model.
func (s *imitation) pieces(text string, q *completionRequest) []string {
	if strings.Contains(text, "capital of France") {
		return []string{" Paris", "."}
	}
	n := 64
	given(&n, q.MaxTokens)
	given(&n, q.MaxCompletionTokens)
	opening := s.lang.tokens(s.opens(text))
	differs := s.differs
	if q.Temperature > 0 && !s.greedy { // sampled
		differs = max(differs, 0.4*q.Temperature*rand.Float64())
	}
	if s.noise > 0 { // otherwise at each request
		var said []string
		for range n {
			differs := 0.0
			if rand.Float64() < s.noise {
				differs = 1
			}
			said = append(said, s.lang.answer(text+strings.Join(said, ""), 1, differs)...)
		}
		return said
	}
	return append(opening, s.lang.answer(text+strings.Join(opening, ""), n, differs)...)[:n]
}

// opens is what is missing of the opening, which may be sent back in part.
func (s *imitation) opens(text string) string {
	for _, o := range openings {
		first, _, _ := strings.Cut(o, ",")
		if i := strings.LastIndex(text, first); i >= 0 {
			rest, _ := strings.CutPrefix(o, text[i:])
			return strings.TrimPrefix(rest, o)
		}
	}
	return s.opening
}

func (s *imitation) time(d time.Duration, share float64) time.Duration {
	if share == 0 {
		share = 1
	}
	return time.Duration(float64(d) * share * s.speed)
}

// remembered reports whether a text was seen before, by any launch that uses the folder,
// and remembers it.
func (s *imitation) remembered(text string) bool {
	if s.config.LieDir == "" {
		return false
	}
	path := filepath.Join(s.config.LieDir, fmt.Sprintf("%x", hashOf(text)))
	if _, err := os.Stat(path); err == nil {
		return true
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		fmt.Fprintln(s.log, err)
	}
	return false
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return h.Sum64()
}
