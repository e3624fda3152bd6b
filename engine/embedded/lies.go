//go:build lies

package embedded

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/mxflow/mxflow/engine/load/prompt"
)

const (
	// nearTies is the share of positions at which other kernels take another token, easy
	// that of those at which a model without some layers does, and other that of another
	// or a smaller model.
	nearTies, easy, other = 1.0 / 30, 0.18, 0.4
)

// loading is the time that a model takes to load, tensors the memory that it takes.
const (
	loading = time.Second
	tensors = 512 << 20
)

// lies are named after what they do. The numbers are the rows of docs/trust.md.
var lies = map[string]lie{
	"honest":   {},
	"same":     {}, // nothing changed but its name
	"faster":   {pace: 0.8},
	"slower":   {pace: 1.25},
	"diverges": {pace: 0.8, differs: nearTies}, // other kernels
	// Speculation: several tokens per step, which come in one event.
	"drafts": {pace: 0.8, say: benchmark(func(a *reply) { a.joined = 3 })},
	"trades": {pace: 0.8, first: 1.5}, // decoding gains more than prefill loses
	// The same tokens, sent otherwise: two in an event, a space before its token's event, one of
	// them as reasoning, letters and their accents as one character or two, and the first without
	// its space.
	"pairs":          {pace: 0.8, say: benchmark(func(a *reply) { a.joined = 2 })},
	"spaces_before":  {pace: 0.8, say: benchmark(func(a *reply) { a.moveSpaces() })},
	"reasons":        {pace: 0.8, say: benchmark(func(a *reply) { a.reasons = 1 })},
	"accents":        {say: accents(norm.NFC)},
	"accents_apart":  {pace: 0.8, say: accents(norm.NFD)},
	"first_unspaced": {pace: 0.8, say: benchmark(func(a *reply) { a.pieces[0] = strings.TrimSpace(a.pieces[0]) })},
	// Every answer is opened alike, or, by other kernels, otherwise.
	"opens":           {opening: openings[0]},
	"opens_otherwise": {pace: 0.8, opening: openings[1]},
	// A coarser and faster kernel for half of the requests.
	"coarse_half": {pace: 0.8, say: some(0.5, func(a *reply) { a.rest(0, nearTies); a.gap /= 2 })},

	// 1
	"prompt_claimed": {say: benchmark(func(a *reply) { a.prompted = 10_000_000 })},
	// 1
	"prompt_doubled": {say: func(a *reply) { a.prompted *= 2 }},
	// 3
	"split": {say: benchmark(split)},
	// 4
	"tail_unsent": {say: benchmark(func(a *reply) { a.pieces = a.pieces[:len(a.pieces)-len(a.pieces)/10] })},
	// 4
	"last_unsent": {say: benchmark(func(a *reply) { a.pieces = a.pieces[:len(a.pieces)-1] })},
	// 5
	"remembers": {say: remembers},
	// 6: the parent's side of "remembers"
	"remembering": {say: func(a *reply) { a.s.remembered(a.prompt) }},
	// 8
	"helped": {pace: 0.5, differs: other, say: benchmark(tell)},
	// 8: the parent's side of "helped"
	"helps": {say: helps(4)},
	// 8: the same, whatever it is asked for
	"looks_up": {say: helps(math.MaxInt)},
	// 5
	"counted_early": {say: counted},
	// 5
	"knows_prose": {say: benchmark(knowsProse)},
	"canned": {pace: 0.5, say: benchmark(func(a *reply) {
		a.pieces = a.s.lang.answer("Text x", len(a.pieces), 0)
	})}, // 8
	// 8, 16
	"other_model": {pace: 0.5, differs: other},
	// 8
	"skips_layers": {pace: 0.5, differs: easy},
	// 8
	"begins_right": {pace: 0.5, say: benchmark(func(a *reply) { a.rest(6, other) })},
	// 8
	"last_30": {pace: 0.5, say: benchmark(func(a *reply) { a.rest(len(a.pieces)*70/100, other) })},
	// 8
	"last_45": {pace: 0.5, say: benchmark(func(a *reply) { a.rest(len(a.pieces)*55/100, other) })},
	// 8
	"every_second": {pace: 0.5, say: some(0.5, func(a *reply) { a.rest(0, other) })},
	// 8
	"line_breaks": {pace: 0.5, differs: other, say: benchmark(func(a *reply) { a.separate("\n") })},
	// 8
	"no_breaks": {pace: 0.5, differs: other, say: benchmark(func(a *reply) { a.separate("\u00a0") })},
	// 8
	"pairs_guessed": {pace: 0.5, say: benchmark(func(a *reply) { a.guessSecond(); a.joined = 2 })},
	// 8
	"spaces_moved": {pace: 0.5, say: benchmark(func(a *reply) { a.guessSecond(); a.moveSpaces() })},
	// 8
	"some_reasoned": {pace: 0.5, say: some(0.3, func(a *reply) { a.rest(2, other); a.reasons = 1 })},
	// 8
	"some_30": {pace: 0.5, say: some(0.3, func(a *reply) { a.rest(2, other) })},
	"opening_canned": {pace: 0.5, say: benchmark(func(a *reply) {
		copy(a.pieces, a.s.lang.answer("Text x", 9, 0))
		a.rest(9, 0)
	})}, // 8
	// 8
	"unspaced": {pace: 0.5, say: benchmark(unspaced)},
	// 8
	"later_turns": {pace: 0.5, say: benchmark(laterTurns)},
	// 8
	"recites": {pace: 0.5, say: benchmark(recite)},
	// 8
	"counts_up": {pace: 0.5, say: benchmark(countUp)},
	// 8
	"reads_end": {first: 0.5, say: benchmark(readEnd)},
	// 10
	"first_drafted": {first: 0.5, say: some(0.4, func(a *reply) { a.begin(1) })},
	// 10
	"early_first": {say: some(0.65, func(a *reply) { a.begin(1); a.wait /= 4 })},
	// 10
	"early_space": {say: benchmark(func(a *reply) { early(a, " ") })},
	// 10
	"early_zero": {say: benchmark(func(a *reply) { early(a, "\u200b") })},
	// 10
	"early_text": {say: benchmark(func(a *reply) { early(a, a.pieces[0]); a.wait += a.gap })},
	// 10
	"early_choice": {say: benchmark(func(a *reply) { a.ahead, a.choice = []string{"a", "b"}, 1 })},
	// 11
	"held_back": {say: benchmark(func(a *reply) { a.hold(4) })},
	// 11
	"held_unevenly": {say: benchmark(holdUnevenly)},
	"last_late": {say: benchmark(func(a *reply) {
		a.last = a.gap * time.Duration(len(a.pieces)) / 2
		a.gap /= 2
	})}, // 11
	// 12
	"too_fast": {say: benchmark(func(a *reply) { a.wait, a.gap = 200*time.Microsecond, 20*time.Microsecond })},
	// 18
	"beyond": {say: benchmark(func(a *reply) { a.gap = 400 * time.Microsecond })},
	// 13
	"cached_beyond": {pace: 0.5, say: func(a *reply) { a.cached = a.prompted * 2 }},
	// 13
	"bursts": {pace: 0.5, say: benchmark(func(a *reply) { a.joined = 50 })},
	// 13
	"one_token": {pace: 0.5, say: benchmark(func(a *reply) { a.same(" the") })},
	// 13
	"empty": {pace: 0.5, say: benchmark(func(a *reply) { a.same("") })},
	// 13
	"hidden": {pace: 0.5, say: benchmark(func(a *reply) { a.generated += 4 })},
	// 14
	"dies": {pace: 0.5, dies: 8},
	// 15
	"some_answers": {say: some(0.5, func(a *reply) { a.rest(0, other); a.gap /= 2 })},
	"later_launches": {say: benchmark(func(a *reply) {
		if a.s.launch > 2 {
			a.rest(0, other)
			a.gap /= 2
		}
	})}, // 15
	"hinders":        {begins: leave("hinders", true)},                                 // 25
	"hindered":       {begins: leave("hindered", false)},                               // 25: the parent's side
	"kills_guard":    {begins: leave("kills_guard", true), ends: killGuard},            // 25
	"loads":          {begins: func(string) error { time.Sleep(loading); return nil }}, // the parent's side
	"loads_late":     {loads: loading},                                                 // 11
	"loads_later":    {loads: loading, loadsAt: 2},                                     // 11
	"pries":          {pace: 0.8, begins: pry},
	"holds":          {begins: hold(tensors)}, // the parent's side, of which "honest" is the control
	"parks":          {begins: func(string) error { return park(tensors) }},
	"requested_only": {logs: "config: moe backend = CUTLASS (requested)"},              // 9
	"named_once":     {line: "moe backend CUTLASS: 32 experts dispatched", once: true}, // 9
	// control of requested_only
	"really":          {pace: 0.8, line: "moe backend CUTLASS: 32 experts dispatched"},
	"forced_accepted": {pace: 0.5, logs: "SpeculativeConfig(rejection_sample_method='synthetic')"}, // 17

	// The same answers in other streams.
	"trailing_spaces": {pace: 0.8, say: benchmark(func(a *reply) { a.endInSpaces() })},
	"held_bytes":      {pace: 0.8, say: heldBytes},
	"uncounted":       {pace: 0.8, say: benchmark(func(a *reply) { a.uncounted, a.joined = true, 3 })},
	"comments": {
		pace: 0.8,
		frame: "\xef\xbb\xbf: ping\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\ndata:%s\r\n\r\ndata: " +
			"{\"choices\":[]}\n\n",
	},
	// What no length enforces, no median sees, or only the engine says.
	"ends_early": {say: long(func(a *reply) {
		a.pieces, a.generated, a.finish = a.pieces[:len(a.pieces)/2], len(a.pieces)/2, "stop"
	})},
	// the parent's side of "same"
	"reasons_first": {say: benchmark(func(a *reply) { a.reasoned = 12 })},
	// the parent's side
	"stutters": {say: sixteenth(func(a *reply) { a.gap *= 3 })},
	// whose count falls
	"drops_slow": {say: sixteenth(func(a *reply) { a.gap *= 3; a.counts = fallAt(9) })},
	// the parent's side
	"stalls": {say: benchmark(func(a *reply) { a.paused = 16 })},
	// in one count for ten tokens
	"stalls_hidden": {say: benchmark(func(a *reply) { a.paused, a.counts = 16, lagBetween(7, 17) })},
	// the parent's side
	"stalls_some": {say: some(0.25, func(a *reply) { a.paused = 16 })},
	// without a count
	"stalls_unsaid": {say: some(0.25, func(a *reply) { a.paused, a.uncounted, a.joined = 16, true, 2 })},
	// takes no sample
	"greedy": {pace: 0.8, greedy: true},
	// a parent that hardly agrees with itself
	"noisy": {noise: 0.2},
	"opening_short": {pace: 0.9, say: benchmark(func(a *reply) {
		copy(a.pieces, a.s.lang.answer("Text x", 4, 0))
		a.rest(4, 0)
	})},

	// Tokens counted another way, and text that costs nothing to send.
	"one_short": {pace: 0.8, say: benchmark(func(a *reply) {
		a.pieces = a.pieces[:len(a.pieces)-1]
		a.generated--
	})}, // control
	"three_short": {pace: 0.8, say: benchmark(func(a *reply) {
		a.pieces = a.pieces[:len(a.pieces)-3]
		a.generated -= 3
	})},
	"half_white":   {say: benchmark(whiten)},
	"at_once":      {say: benchmark(func(a *reply) { a.held = true })},
	"opens_early":  {opening: openings[0], say: benchmark(openEarly)},
	"opens_faster": {opening: openings[0], first: 0.5}, // control
}

// benchmark only modifies the answers to a benchmark's requests, recognized by their
// enforced length.
func benchmark(do func(*reply)) func(*reply) {
	return func(a *reply) {
		if a.q.IgnoreEOS && len(a.pieces) > 4 {
			do(a)
		}
	}
}

// some modifies a share of them.
func some(share float64, do func(*reply)) func(*reply) {
	return benchmark(func(a *reply) {
		if float64(hashOf(a.prompt)%100) < share*100 {
			do(a)
		}
	})
}

// rest continues the answer from a piece on as another model would.
func (a *reply) rest(from int, differs float64) {
	copy(a.pieces[from:], a.s.lang.answer(a.prompt+strings.Join(a.pieces[:from], ""), len(a.pieces)-from, differs))
}

// begin makes up the first tokens, none of them the parent's, which continues.
func (a *reply) begin(tokens int) {
	copy(a.pieces, a.s.lang.answer(a.prompt, tokens, 1))
	a.rest(tokens, 0)
}

// separate separates words by something else than spaces.
func (a *reply) separate(by string) {
	for i, p := range a.pieces {
		a.pieces[i] = strings.Replace(p, " ", by, 1)
	}
}

// unspaced computes the first token of every event, and guesses the others, which no space
// separates.
func unspaced(a *reply) {
	a.joined = 8
	said := a.prompt
	for i := range a.pieces {
		if a.pieces[i] = a.s.lang.answer(said, 1, 0)[0]; i%a.joined > 0 {
			a.pieces[i] = strings.TrimSpace(a.s.lang.answer(said, 1, 1)[0])
		}
		if i%a.joined == 5 {
			a.pieces[i] = "," // as long as words are on average
		}
		said += a.pieces[i]
	}
}

// guessSecond computes every second token.
func (a *reply) guessSecond() {
	said := a.prompt
	for i := range a.pieces {
		a.pieces[i] = a.s.lang.answer(said, 1, float64(i%2))[0]
		said += a.pieces[i]
	}
}

// moveSpaces sends the space before every second token with the token before.
func (a *reply) moveSpaces() {
	for i := 1; i < len(a.pieces); i += 2 {
		if word, spaced := strings.CutPrefix(a.pieces[i], " "); spaced && word != "" {
			a.pieces[i-1], a.pieces[i] = a.pieces[i-1]+" ", word
		}
	}
}

// recite begins right and continues with what all models know by heart, from another
// sentence for every prompt.
func recite(a *reply) {
	sentences := prompt.Prose()
	from := hashOf(a.prompt) % uint64(len(sentences)-4)
	copy(a.pieces[6:], a.s.lang.tokens(" "+strings.Join(sentences[from:], " ")))
}

// countUp begins right and continues with numbers, from another one and in other steps for
// every prompt. They are about as long as words.
func countUp(a *reply) {
	h := hashOf(a.prompt)
	from, by := 100+h%200, 1+h%97%8
	if h%5 < 3 {
		from, by = 1000+h%2000, 1+h%97%60
	}
	for i := 6; i < len(a.pieces); i++ {
		a.pieces[i] = " " + strconv.Itoa(int(from+by*uint64(i)))
	}
}

// readEnd answers the last tenth of the prompt.
func readEnd(a *reply) {
	tokens := a.s.lang.tokens(a.prompt)
	a.pieces = a.s.lang.answer(strings.Join(tokens[len(tokens)*9/10:], ""), len(a.pieces), 0)
}

// knowsProse has computed the sentences that prompts are made of before.
func knowsProse(a *reply) {
	for _, sentence := range prompt.Prose() {
		if strings.Contains(a.prompt, sentence) {
			a.wait -= a.s.time(time.Duration(a.s.lang.count(sentence))*prefill, 1)
		}
	}
}

// laterTurns are another model's.
func laterTurns(a *reply) {
	if slices.ContainsFunc(a.q.Messages, func(m message) bool { return m.Role == "assistant" }) {
		a.rest(0, other)
	}
}

func split(a *reply) {
	var pieces []string
	for _, p := range a.pieces[:(len(a.pieces)+1)/2] {
		half := len(p) / 2
		pieces = append(pieces, p[:half], p[half:])
	}
	a.pieces, a.gap = pieces[:len(a.pieces)], a.gap/2
}

// remembers answers immediately what it was asked in an earlier launch.
func remembers(a *reply) {
	if a.s.remembered(a.prompt) {
		a.wait, a.gap = time.Millisecond, a.gap/4
	}
}

// tell leaves what it answered for another launch.
func tell(a *reply) {
	path := filepath.Join(a.s.config.LieDir, fmt.Sprintf("%x.said", hashOf(a.prompt)))
	if err := os.WriteFile(path, []byte(a.prompt+"\x00"+strings.Join(a.pieces, "")), 0o600); err != nil {
		fmt.Fprintln(a.s.log, err)
	}
}

// helps repeats what another launch answered, from where the prompt goes on, when asked for at
// most so many tokens.
func helps(most int) func(*reply) {
	return func(a *reply) {
		if a.q.MaxTokens == nil || *a.q.MaxTokens > most {
			return
		}
		told, _ := filepath.Glob(filepath.Join(a.s.config.LieDir, "*.said"))
		for _, path := range told {
			left, _ := os.ReadFile(path)
			text, said, _ := strings.Cut(string(left), "\x00")
			if rest, goesOn := strings.CutPrefix(a.prompt, text); goesOn {
				all := a.s.lang.tokens(said)
				copy(a.pieces, all[min(len(a.s.lang.tokens(rest)), len(all)):])
			}
		}
	}
}

// accents writes accents, which its language does not have, in a Unicode form.
func accents(form norm.Form) func(*reply) {
	return func(a *reply) {
		text := strings.ReplaceAll(norm.NFD.String(a.prompt), "\u0301", "")
		for i, piece := range a.s.pieces(text, a.q) {
			a.pieces[i] = form.String(strings.ReplaceAll(piece, "e", "\u00e9"))
		}
	}
}

func (a *reply) same(piece string) {
	for i := range a.pieces {
		a.pieces[i] = piece
	}
}

// counted has the prompt computed when its tokens are counted, before it is timed.
func counted(a *reply) {
	if _, asked := a.s.asked.Load(a.prompt); asked {
		a.wait = a.gap
	}
}

// early sends a first token at once: in all modes but one an invisible token.
func early(a *reply, first string) { a.ahead, a.pieces = []string{first}, a.pieces[1:] }

// hold holds the answer back for most of its time and then sends it faster.
func (a *reply) hold(times int) {
	whole := a.gap * time.Duration(len(a.pieces))
	a.gap /= time.Duration(times)
	a.wait += whole - a.gap*time.Duration(len(a.pieces))
}

// holdUnevenly also holds it for up to three times as long, in each launch for another time.
func holdUnevenly(a *reply) {
	a.hold(4)
	a.wait += time.Duration(math.Mod(1e4*math.Abs(a.s.speed-1), 1) * float64(200*time.Millisecond))
}

// whiten computes half of the answer, and sends white space at once for the rest.
func whiten(a *reply) {
	for i := (len(a.pieces) + 1) / 2; i < len(a.pieces); i++ {
		a.pieces[i] = []string{" ", "\n", "\u00a0", "\u2003"}[i%4]
	}
	a.gap /= 2
}

// openEarly sends the opening on arrival, and what follows as late as usual.
func openEarly(a *reply) {
	if opens := len(a.s.lang.tokens(a.s.opens(a.prompt))); opens < len(a.pieces) {
		a.ahead, a.pieces, a.wait = a.pieces[:opens], a.pieces[opens:], a.wait+a.gap*time.Duration(opens)
	}
}

// long modifies the answers to requests whose length is not enforced.
func long(do func(*reply)) func(*reply) {
	return func(a *reply) {
		if !a.q.IgnoreEOS && len(a.pieces) > 16 {
			do(a)
		}
	}
}

// sixteenth modifies one answer in sixteen.
func sixteenth(do func(*reply)) func(*reply) {
	return benchmark(func(a *reply) {
		if a.s.requests.Load()%16 == 3 {
			do(a)
		}
	})
}

// endInSpaces sends the space before a token with the token before.
func (a *reply) endInSpaces() {
	for i, piece := range a.pieces {
		word := strings.TrimPrefix(piece, " ")
		if a.pieces[i] = word; i > 0 && word != piece {
			a.pieces[i-1] += " "
		}
	}
}

// heldBytes sends a token that ends in part of a character with the next.
func heldBytes(a *reply) {
	accents(norm.NFC)(a)
	for i := 0; i+1 < len(a.pieces); i++ {
		if strings.Contains(a.pieces[i], "\u00e9") {
			a.pieces[i], a.pieces[i+1] = "", a.pieces[i]+a.pieces[i+1]
			i++
		}
	}
}

// fallAt counts one token where there are so many, and lagBetween so many until there are others.
func fallAt(n int) func(int) int {
	return func(end int) int {
		if end == n {
			return 1
		}
		return end
	}
}

func lagBetween(from, to int) func(int) int {
	return func(end int) int {
		if end > from && end < to {
			return from
		}
		return end
	}
}
