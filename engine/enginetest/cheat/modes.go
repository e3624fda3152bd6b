package main

import (
	"hash/fnv"
	"strings"
	"time"
)

// modes are named after what they do. The numbers are the rows of docs/trust.md.
var modes = map[string]mode{
	"":       {},
	"faster": {pace: 0.8},
	"slower": {pace: 1.25},
	// Other kernels: the same model, whose text diverges at a near-tie.
	"diverges": {pace: 0.8, say: benchmark(diverge)},
	// Speculation: several tokens per step, which come in one event.
	"drafts": {pace: 0.8, say: benchmark(func(a *answer) { a.joined = 3 })},
	"trades": {pace: 0.8, first: 1.5}, // decoding gains more than prefill loses

	"prompt_claimed": {say: benchmark(func(a *answer) { a.prompted = 10_000_000 })},                                               // 1
	"prompt_doubled": {say: func(a *answer) { a.prompted *= 2 }},                                                                  // 1
	"half_sent":      {say: benchmark(func(a *answer) { a.pieces = a.pieces[:(len(a.pieces)+1)/2] })},                             // 2
	"split":          {say: benchmark(split)},                                                                                     // 3
	"tail_unsent":    {say: benchmark(func(a *answer) { a.pieces = a.pieces[:len(a.pieces)-len(a.pieces)/10] })},                  // 4
	"last_unsent":    {say: benchmark(func(a *answer) { a.pieces = a.pieces[:len(a.pieces)-1] })},                                 // 4
	"remembers":      {say: func(a *answer) { remembers(a) }},                                                                     // 5
	"remembering":    {say: func(a *answer) { a.s.remembered(a.prompt) }},                                                         // 6: the parent's side of "remembers"
	"canned":         {say: benchmark(func(a *answer) { a.canned(); a.wait, a.gap = 0, 0 })},                                      // 7
	"canned_paced":   {pace: 0.5, say: benchmark(func(a *answer) { a.canned() })},                                                 // 8
	"parrot":         {pace: 0.5, say: benchmark(parrot)},                                                                         // 8
	"other_model":    {pace: 0.5, seed: 7},                                                                                        // 8, 16
	"begins_right":   {pace: 0.5, say: benchmark(begin)},                                                                          // 8
	"random_words":   {pace: 0.5, say: benchmark(func(a *answer) { a.pieces = a.s.lang.random(a.prompt, len(a.pieces), false) })}, // 8
	"random_letters": {pace: 0.5, say: benchmark(func(a *answer) { a.pieces = a.s.lang.random(a.prompt, len(a.pieces), true) })},  // 8
	"early_space":    {say: benchmark(func(a *answer) { early(a, " ") })},                                                         // 10
	"early_newline":  {say: benchmark(func(a *answer) { early(a, "\n") })},                                                        // 10
	"early_zero":     {say: benchmark(func(a *answer) { early(a, "\u200b") })},                                                    // 10
	"early_text":     {say: benchmark(func(a *answer) { early(a, a.pieces[0]); a.wait += a.gap })},                                // 10
	"held_back":      {say: benchmark(func(a *answer) { a.hold(4) })},                                                             // 11
	"early_words":    {say: benchmark(func(a *answer) { a.guess(4) })},                                                            // 10
	"early_choice":   {say: benchmark(func(a *answer) { a.ahead, a.choice = []string{"a", "b"}, 1 })},                             // 10
	"last_late":      {say: benchmark(func(a *answer) { a.last = a.gap * time.Duration(len(a.pieces)) / 2; a.gap /= 2 })},         // 11
	"too_fast":       {say: benchmark(func(a *answer) { a.gap = 20 * time.Microsecond })},                                         // 12
	"beyond":         {say: benchmark(func(a *answer) { a.gap = 400 * time.Microsecond })},                                        // 18
	"cached_beyond":  {pace: 0.5, say: func(a *answer) { a.cached = a.prompted * 2 }},                                             // 13
	"bursts":         {pace: 0.5, say: benchmark(func(a *answer) { a.joined = 50 })},                                              // 13
	"one_token":      {pace: 0.5, say: benchmark(func(a *answer) { a.same(" the") })},                                             // 13
	"nan":            {pace: 0.5, say: benchmark(func(a *answer) { a.same(" nan") })},                                             // 13
	"empty":          {pace: 0.5, say: benchmark(func(a *answer) { a.same("") })},                                                 // 13
	"hidden":         {pace: 0.5, say: benchmark(func(a *answer) { a.generated += 4 })},                                           // 13
	"dies":           {pace: 0.5, dies: 8},                                                                                        // 14
	"later_wrong":    {pace: 0.5, say: benchmark(later(func(a *answer) { a.canned() }))},                                          // 15
	"counted_early":  {say: counted},                                                                                              // 5
	"some_answers": {say: benchmark(func(a *answer) {
		if hash(a.prompt)%2 == 0 {
			a.other(0.5)
		}
	})}, // 15
	"later_launches": {say: benchmark(func(a *answer) {
		if a.s.launch > 2 {
			a.other(0.5)
		}
	})}, // 15
	"hinders":         {leaves: allBut + "hinders"},                                               // 25
	"hindered":        {leaves: "hindered"},                                                       // 25: the parent's side
	"kills_guard":     {leaves: allBut + "kills_guard", ends: killGuard},                          // 25
	"computes":        {computes: true},                                                           // the parent of binds
	"binds":           {computes: true, begins: unbind, ends: bind},                               // 25
	"renices":         {computes: true, begins: raise, ends: lower},                               // 25
	"requested_only":  {log: "config: moe backend = CUTLASS (requested)"},                         // 9
	"named_once":      {line: "moe backend CUTLASS: 32 experts dispatched", once: true},           // 9
	"really":          {pace: 0.8, line: "moe backend CUTLASS: 32 experts dispatched"},            // control of requested_only
	"forced_accepted": {pace: 0.5, log: "SpeculativeConfig(rejection_sample_method='synthetic')"}, // 17

	// What is counted another way, and what costs nothing to send.
	"one_short":    {pace: 0.8, say: benchmark(func(a *answer) { a.pieces = a.pieces[:len(a.pieces)-1]; a.generated-- })}, // control
	"three_short":  {pace: 0.8, say: benchmark(func(a *answer) { a.pieces = a.pieces[:len(a.pieces)-3]; a.generated -= 3 })},
	"half_white":   {say: benchmark(whiten)},
	"opens":        {say: func(a *answer) { a.open() }}, // the parent of the next two
	"opens_early":  {say: func(a *answer) { a.openEarly() }},
	"at_once":      {say: benchmark(func(a *answer) { a.held = true })},
	"opens_faster": {first: 0.5, say: func(a *answer) { a.open() }}, // control
}

// benchmark only modifies the answers to a benchmark's requests, recognized by their
// enforced length.
func benchmark(do func(*answer)) func(*answer) {
	return func(a *answer) {
		if a.r.IgnoreEOS && len(a.pieces) > 4 {
			do(a)
		}
	}
}

// later starts after some requests of a benchmark.
func later(do func(*answer)) func(*answer) {
	return func(a *answer) {
		if a.s.requests.Load() > 6 {
			do(a)
		}
	}
}

// diverge uses another word than the parent would, once in 30 pieces, and continues from
// there as the parent would.
func diverge(a *answer) {
	for i := range a.pieces {
		if said := strings.Join(a.pieces[:i], ""); a.pieces[i][0] == ' ' && hash(a.prompt+said)%30 == 0 {
			a.pieces[i] = " " + a.s.lang.words[hash(said)%uint64(len(a.s.lang.words))]
			copy(a.pieces[i+1:], a.s.lang.answer(a.prompt+said+a.pieces[i], parent, len(a.pieces)))
		}
	}
}

// begin starts as the parent does, and continues as another model would.
func begin(a *answer) {
	said := 6
	copy(a.pieces[said:], a.s.lang.answer(a.prompt+strings.Join(a.pieces[:said], ""), 7, len(a.pieces)))
}

func split(a *answer) {
	var pieces []string
	for _, p := range a.pieces[:(len(a.pieces)+1)/2] {
		half := len(p) / 2
		pieces = append(pieces, p[:half], p[half:])
	}
	a.pieces, a.gap = pieces[:len(a.pieces)], a.gap/2
}

// remembers answers immediately what it was asked in an earlier launch.
func remembers(a *answer) {
	if a.s.remembered(a.prompt) {
		a.wait, a.gap = time.Millisecond, a.gap/4
	}
}

// canned is one text for every prompt.
func (a *answer) canned() { a.pieces = a.s.lang.answer("canned", 3, len(a.pieces)) }

func (a *answer) same(piece string) {
	for i := range a.pieces {
		a.pieces[i] = piece
	}
}

// counted has the prompt computed when its tokens are counted, before it is timed.
func counted(a *answer) {
	if _, asked := a.s.asked.Load(a.prompt); asked {
		a.wait = a.gap
	}
}

// parrot returns the prompt.
func parrot(a *answer) {
	words := strings.Fields(a.prompt)
	for i := range a.pieces {
		a.pieces[i] = " " + words[i%len(words)]
	}
}

// early sends a first token at once: in all modes but one an invisible token.
func early(a *answer, first string) { a.ahead, a.pieces = []string{first}, a.pieces[1:] }

// guess sends so many words of another model on arrival, and continues as the parent
// would, as late as usual.
func (a *answer) guess(words int) {
	a.ahead = a.s.lang.answer(a.prompt, 7, words)
	a.pieces = a.s.lang.answer(a.prompt+strings.Join(a.ahead, ""), parent, len(a.pieces)-words)
	a.wait += a.gap * time.Duration(words)
}

// other is another model's answer, in a share of the time.
func (a *answer) other(pace float64) {
	a.pieces, a.gap = a.s.lang.answer(a.prompt, 7, len(a.pieces)), time.Duration(float64(a.gap)*pace)
}

// hold holds the answer back for most of its time and then sends it faster.
func (a *answer) hold(times int) {
	whole := a.gap * time.Duration(len(a.pieces))
	a.gap /= time.Duration(times)
	a.wait += whole - a.gap*time.Duration(len(a.pieces))
}

// whiten computes half of the answer, and sends white space at once for the rest.
func whiten(a *answer) {
	for i := (len(a.pieces) + 1) / 2; i < len(a.pieces); i++ {
		a.pieces[i] = []string{" ", "\n", "\u00a0", "\u2003"}[i%4]
	}
	a.gap /= 2
}

// opening starts every answer of a model that was taught to be polite.
var opening = []string{" Certainly", ",", " here", " is", " more", ":"}

// open has an answer start with the opening, as far as the text that it continues has not,
// and returns how many pieces of it there are.
func (a *answer) open() (opens int) {
	said := len(opening) - 1
	for said > 0 && !strings.HasSuffix(a.prompt, strings.Join(opening[:said], "")) {
		said--
	}
	if strings.Contains(a.prompt, strings.Join(opening, "")) || a.pieces[0] == " Paris" {
		return 0
	}
	opens = min(len(opening)-said, len(a.pieces))
	copy(a.pieces, opening[said:])
	copy(a.pieces[opens:], a.s.lang.answer(a.prompt+strings.Join(a.pieces[:opens], ""), parent, len(a.pieces)))
	return opens
}

// openEarly sends the opening on arrival, and what follows as late as usual.
func (a *answer) openEarly() {
	opens := a.open()
	if !a.r.IgnoreEOS || len(a.pieces) <= opens {
		return
	}
	a.ahead, a.pieces, a.wait = a.pieces[:opens], a.pieces[opens:], a.wait+a.gap*time.Duration(opens)
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
