package lies

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

// lie is how an imitation deviates from the honest parent, which is the zero value.
type lie struct {
	// The model: the time of each token and of the first one relative to the parent's (0 is 1), the share of
	// positions at which it takes another token, the share of tokens that it takes by chance, what every answer
	// begins with, and whether it takes the likeliest token where it was asked to sample.
	pace, first    float64
	differs, noise float64
	opening        string
	greedy         bool

	// Single answers: those that of selects, a benchmark's where it is nil, take stretch times as long for each
	// token (0 is 1), are changed, and sent as stream says.
	of      func(a *reply) bool
	stretch float64
	change  func(a *reply)
	stream  stream

	// The server: what it does when it starts and, in place of a clean stop, when it is asked to end; what it
	// logs when it starts and at the first request, that one in the first launch only if once is set; how long
	// the model loads, in the first request or that of number loadsAt; the request of a benchmark that kills it;
	// and the form of a stream's events, the usual one if empty.
	begins     func(folder string) error
	ends       func() error
	logs, line string
	once       bool
	loads      time.Duration
	loadsAt    int64
	dies       int64
	frame      string
}

// stream is how an answer is sent. The zero value is an event for each token, with the right count.
type stream struct {
	joined     int    // tokens in an event; 0 is one
	reasoning  [2]int // the tokens from one number to another are called reasoning
	paused     int    // the token before which there is a stall; none at 0
	held       bool   // everything is sent when the last token is due
	uncounted  bool   // no event has a count
	miscounted miscount
}

// miscount is what events claim that end with the tokens from one number to another.
type miscount struct{ from, to, said int }

const (
	// Shares of positions at which another model takes another token: one with other kernels, one without some
	// layers, and a smaller or unrelated one.
	nearTies, easy, other = 1.0 / 30, 0.18, 0.4
	// loading is the time that a model takes to load, tensors the bytes that it takes.
	loading = time.Second
	tensors = 512 << 20
	// dispatched is the line that a plan asks for as evidence of a kernel.
	dispatched = "moe backend CUTLASS: 32 experts dispatched"
)

// lies are the modes by name. Some are told by the parent, where docs/trust.md says "beside".
var lies = map[string]lie{
	// Controls: they do their work, in more or less time.
	"honest":   {},
	"same":     {},
	"faster":   {pace: 0.8},
	"slower":   {pace: 1.25},
	"trades":   {pace: 0.8, first: 1.5}, // decodes faster, but prefills slower
	"diverges": {pace: 0.8, differs: nearTies},
	"coarse_half": { // a faster and coarser kernel for half of the requests
		pace: 0.8, of: share(0.5), stretch: 0.5, change: continued(0, nearTies),
	},
	"opens":           {opening: openings[0]},
	"opens_otherwise": {pace: 0.8, opening: openings[1]},
	"opens_faster":    {opening: openings[0], first: 0.5},
	"really":          {pace: 0.8, line: dispatched},
	"greedy":          {pace: 0.8, greedy: true},
	"noisy":           {noise: 0.2}, // a parent that hardly agrees with itself

	// Controls: the same answers in other streams.
	"drafts":          {pace: 0.8, stream: stream{joined: 3}}, // as by speculation
	"pairs":           {pace: 0.8, stream: stream{joined: 2}},
	"uncounted":       {pace: 0.8, stream: stream{joined: 3, uncounted: true}},
	"reasons":         {pace: 0.8, stream: stream{reasoning: [2]int{1, 2}}},
	"reasons_first":   {stream: stream{reasoning: [2]int{0, 12}}},
	"spaces_before":   {pace: 0.8, change: spacesBefore(2)},
	"first_unspaced":  {pace: 0.8, change: firstUnspaced},
	"accents":         {of: anyone, change: accents(norm.NFC)},
	"accents_apart":   {pace: 0.8, of: anyone, change: accents(norm.NFD)},
	"trailing_spaces": {pace: 0.8, change: func(a *reply) { firstUnspaced(a); spacesBefore(1)(a) }},
	"held_bytes":      {pace: 0.8, of: anyone, change: heldBytes},
	"comments": {
		pace: 0.8,
		frame: "\xef\xbb\xbf: ping\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\ndata:%s\r\n\r\n" +
			"data: {\"choices\":[]}\n\n",
	},
	"one_short": {pace: 0.8, change: short(1)},

	// Tokens that are claimed and were not taken, or not sent.
	"prompt_claimed": {change: func(a *reply) { a.prompted = 10_000_000 }},
	"prompt_doubled": {of: anyone, change: func(a *reply) { a.prompted *= 2 }},
	"cached_beyond":  {pace: 0.5, of: anyone, change: func(a *reply) { a.cached = a.prompted * 2 }},
	"hidden":         {pace: 0.5, change: func(a *reply) { a.generated += 4 }},
	"split":          {stretch: 0.5, change: split},
	"tail_unsent":    {change: func(a *reply) { a.pieces = a.pieces[:len(a.pieces)-len(a.pieces)/10] }},
	"last_unsent":    {change: func(a *reply) { a.pieces = a.pieces[:len(a.pieces)-1] }},
	"three_short":    {pace: 0.8, change: short(3)},
	"half_white":     {stretch: 0.5, change: whiten},
	"ends_early":     {of: unenforced, change: endEarly},

	// Prompts and answers that are known from before.
	"remembers":     {of: anyone, change: remember},
	"remembering":   {of: anyone, change: func(a *reply) { a.s.remembered(a.prompt) }},
	"counted_early": {of: anyone, change: counted},
	"knows_prose":   {change: knowProse},

	// Other answers, as a whole and in a part.
	"other_model":    {pace: 0.5, differs: other},
	"skips_layers":   {pace: 0.5, differs: easy},
	"canned":         {pace: 0.5, change: canned(math.MaxInt)},
	"one_token":      {pace: 0.5, change: repeated(" the")},
	"empty":          {pace: 0.5, change: repeated("")},
	"begins_right":   {pace: 0.5, change: continued(6, other)},
	"last_30":        {pace: 0.5, change: func(a *reply) { a.rest(len(a.pieces)*70/100, other) }},
	"last_45":        {pace: 0.5, change: func(a *reply) { a.rest(len(a.pieces)*55/100, other) }},
	"every_second":   {pace: 0.5, of: share(0.5), change: continued(0, other)},
	"some_30":        {pace: 0.5, of: share(0.3), change: continued(2, other)},
	"some_reasoned":  {pace: 0.5, of: share(0.3), change: continued(2, other), stream: stream{reasoning: [2]int{1, 2}}},
	"some_answers":   {of: share(0.5), stretch: 0.5, change: continued(0, other)},
	"later_launches": {of: laterLaunch, stretch: 0.5, change: continued(0, other)},
	"later_turns":    {pace: 0.5, of: laterTurn, change: continued(0, other)},
	"reads_end":      {first: 0.5, change: readEnd},

	// Other answers, hidden in how the text divides into words and events.
	"line_breaks":   {pace: 0.5, differs: other, change: separated("\n")},
	"no_breaks":     {pace: 0.5, differs: other, change: separated("\u00a0")},
	"unspaced":      {pace: 0.5, change: unspaced},
	"pairs_guessed": {pace: 0.5, change: guessSecond, stream: stream{joined: 2}},
	"spaces_moved":  {pace: 0.5, change: func(a *reply) { guessSecond(a); spacesBefore(2)(a) }},

	// Other answers that the parent would continue.
	"opening_canned": {pace: 0.5, change: canned(9)},
	"opening_short":  {pace: 0.9, change: canned(4)},
	"recites":        {pace: 0.5, change: recite},
	"counts_up":      {pace: 0.5, change: countUp},

	// Answers that are left for the parent, which repeats them: what it is asked for few tokens of, or all.
	"helped":   {pace: 0.5, differs: other, change: tell},
	"helps":    {of: anyone, change: help(4)},
	"looks_up": {of: anyone, change: help(math.MaxInt)},

	// First tokens that were not computed.
	"first_drafted": {first: 0.5, of: share(0.4), change: (*reply).guessFirst},
	"early_first":   {of: share(0.65), change: func(a *reply) { a.guessFirst(); a.wait /= 4 }},
	"early_space":   {change: sendEarly(" ")},
	"early_zero":    {change: sendEarly("\u200b")},
	"early_text":    {change: func(a *reply) { sendEarly(a.pieces[0])(a); a.wait += a.gap }},
	"early_choice":  {change: func(a *reply) { a.ahead, a.choice = []string{"a", "b"}, 1 }},
	"opens_early":   {opening: openings[0], change: openEarly},

	// Time that is moved within an answer, or into what is not measured.
	"held_back":     {change: holdBack},
	"held_unevenly": {change: holdUnevenly},
	"last_late":     {change: func(a *reply) { a.last = a.gap * time.Duration(len(a.pieces)) / 2; a.gap /= 2 }},
	"at_once":       {stream: stream{held: true}},
	"bursts":        {pace: 0.5, stream: stream{joined: 50}},
	"loads":         {begins: func(string) error { time.Sleep(loading); return nil }},
	"loads_late":    {loads: loading},
	"loads_later":   {loads: loading, loadsAt: 2},

	// Slow tokens, and a stream that says nothing of them.
	"stutters":      {of: oneIn16, stretch: 3},
	"drops_slow":    {of: oneIn16, stretch: 3, stream: stream{miscounted: miscount{9, 9, 1}}},
	"stalls":        {stream: stream{paused: 16}},
	"stalls_hidden": {stream: stream{paused: 16, miscounted: miscount{8, 16, 7}}},
	"stalls_some":   {of: share(0.25), stream: stream{paused: 16}},
	"stalls_unsaid": {of: share(0.25), stream: stream{paused: 16, joined: 2, uncounted: true}},

	// Faster than a stream, or than the GPU, can be.
	"too_fast": {change: func(a *reply) { a.wait, a.gap = 200*time.Microsecond, 20*time.Microsecond }},
	"beyond":   {change: func(a *reply) { a.gap = 400 * time.Microsecond }},

	// What the log claims, or admits.
	"requested_only":  {logs: "config: moe backend = CUTLASS (requested)"},
	"named_once":      {line: dispatched, once: true},
	"forced_accepted": {pace: 0.5, logs: "SpeculativeConfig(rejection_sample_method='synthetic')"},

	// What a process does outside its answers.
	"dies":        {pace: 0.5, dies: 8},
	"hinders":     {begins: leave("hinders", true)},
	"hindered":    {begins: leave("hindered", false)},
	"kills_guard": {begins: leave("kills_guard", true), ends: killGuard},
	"pries":       {pace: 0.8, begins: pry},
	"holds":       {begins: hold(tensors)},
	"parks":       {begins: func(string) error { return park(tensors) }},
}

func anyone(*reply) bool { return true }

// benchmark selects answers of an enforced length, which only a benchmark's requests have.
func benchmark(a *reply) bool { return a.q.IgnoreEOS && len(a.pieces) > 4 }

func unenforced(a *reply) bool { return !a.q.IgnoreEOS && len(a.pieces) > 16 }

// share selects a share of a benchmark's answers, by their prompts.
func share(of float64) func(*reply) bool {
	return func(a *reply) bool { return benchmark(a) && float64(hashOf(a.prompt)%100) < of*100 }
}

func oneIn16(a *reply) bool { return benchmark(a) && a.s.requests.Load()%16 == 3 }

func laterLaunch(a *reply) bool { return benchmark(a) && a.s.launch > 2 }

func laterTurn(a *reply) bool {
	return benchmark(a) && slices.ContainsFunc(a.q.Messages, func(m message) bool { return m.Role == "assistant" })
}

// rest continues the answer from a token on as another model would.
func (a *reply) rest(from int, differs float64) {
	copy(a.pieces[from:], a.s.lang.answer(a.prompt+strings.Join(a.pieces[:from], ""), len(a.pieces)-from, differs))
}

func continued(from int, differs float64) func(*reply) {
	return func(a *reply) { a.rest(from, differs) }
}

// guessFirst makes up the first token; the parent's model continues.
func (a *reply) guessFirst() {
	copy(a.pieces, a.s.lang.answer(a.prompt, 1, 1))
	a.rest(1, 0)
}

// canned begins every answer with the same tokens, which the parent's model continues.
func canned(tokens int) func(*reply) {
	return func(a *reply) {
		n := min(tokens, len(a.pieces))
		copy(a.pieces, a.s.lang.answer("Text x", n, 0))
		a.rest(n, 0)
	}
}

func repeated(token string) func(*reply) {
	return func(a *reply) {
		for i := range a.pieces {
			a.pieces[i] = token
		}
	}
}

// short leaves out the last tokens, and does not count them.
func short(tokens int) func(*reply) {
	return func(a *reply) {
		a.pieces = a.pieces[:len(a.pieces)-tokens]
		a.generated -= tokens
	}
}

func endEarly(a *reply) {
	short(len(a.pieces) - len(a.pieces)/2)(a)
	a.finish = "stop"
}

// split sends the first half of the tokens in two parts each.
func split(a *reply) {
	var pieces []string
	for _, p := range a.pieces[:(len(a.pieces)+1)/2] {
		half := len(p) / 2
		pieces = append(pieces, p[:half], p[half:])
	}
	a.pieces = pieces[:len(a.pieces)]
}

// whiten computes half of the answer, and sends white space for the rest.
func whiten(a *reply) {
	for i := (len(a.pieces) + 1) / 2; i < len(a.pieces); i++ {
		a.pieces[i] = []string{" ", "\n", "\u00a0", "\u2003"}[i%4]
	}
}

// separated separates words by something else than spaces.
func separated(by string) func(*reply) {
	return func(a *reply) {
		for i, p := range a.pieces {
			a.pieces[i] = strings.Replace(p, " ", by, 1)
		}
	}
}

// guessSecond computes every second token, and guesses the others.
func guessSecond(a *reply) {
	said := a.prompt
	for i := range a.pieces {
		a.pieces[i] = a.s.lang.answer(said, 1, float64(i%2))[0]
		said += a.pieces[i]
	}
}

// unspaced computes the first token of every event of eight, and guesses the others, which no space separates.
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

// spacesBefore sends the space before every token of a step, from the second one on, with the token before it.
func spacesBefore(step int) func(*reply) {
	return func(a *reply) {
		for i := 1; i < len(a.pieces); i += step {
			if word, spaced := strings.CutPrefix(a.pieces[i], " "); spaced && word != "" {
				a.pieces[i-1], a.pieces[i] = a.pieces[i-1]+" ", word
			}
		}
	}
}

func firstUnspaced(a *reply) { a.pieces[0] = strings.TrimSpace(a.pieces[0]) }

// accents writes accents, which its language does not have, in a Unicode form.
func accents(form norm.Form) func(*reply) {
	return func(a *reply) {
		text := strings.ReplaceAll(norm.NFD.String(a.prompt), "\u0301", "")
		for i, piece := range a.s.pieces(text, a.q) {
			a.pieces[i] = form.String(strings.ReplaceAll(piece, "e", "\u00e9"))
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

// recite begins right and continues with what all models know by heart, from another sentence for every prompt.
func recite(a *reply) {
	sentences := prompt.Prose()
	from := hashOf(a.prompt) % uint64(len(sentences)-4)
	copy(a.pieces[6:], a.s.lang.tokens(" "+strings.Join(sentences[from:], " ")))
}

// countUp begins right and continues with numbers about as long as words, from another one and in other steps for
// every prompt.
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

// remember answers immediately what it was asked in an earlier launch.
func remember(a *reply) {
	if a.s.remembered(a.prompt) {
		a.wait, a.gap = time.Millisecond, a.gap/4
	}
}

// counted has the prompt computed when its tokens are counted, before it is timed.
func counted(a *reply) {
	if _, asked := a.s.asked.Load(a.prompt); asked {
		a.wait = a.gap
	}
}

// knowProse has the sentences that prompts are made of computed before.
func knowProse(a *reply) {
	for _, sentence := range prompt.Prose() {
		if strings.Contains(a.prompt, sentence) {
			a.wait -= a.s.time(time.Duration(a.s.lang.count(sentence))*prefill, 1)
		}
	}
}

// tell leaves what it answered for another launch.
func tell(a *reply) {
	path := filepath.Join(a.s.folder, fmt.Sprintf("%x.said", hashOf(a.prompt)))
	if err := os.WriteFile(path, []byte(a.prompt+"\x00"+strings.Join(a.pieces, "")), 0o600); err != nil {
		fmt.Fprintln(a.s.log, err)
	}
}

// help repeats what another launch told, from where the prompt goes on, when asked for at most so many tokens.
func help(most int) func(*reply) {
	return func(a *reply) {
		if a.q.MaxTokens == nil || *a.q.MaxTokens > most {
			return
		}
		told, _ := filepath.Glob(filepath.Join(a.s.folder, "*.said"))
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

// sendEarly sends a first token on arrival.
func sendEarly(first string) func(*reply) {
	return func(a *reply) { a.ahead, a.pieces = []string{first}, a.pieces[1:] }
}

// openEarly sends the opening on arrival, and what follows as late as usual.
func openEarly(a *reply) {
	if opens := len(a.s.lang.tokens(a.s.opens(a.prompt))); opens < len(a.pieces) {
		a.ahead, a.pieces, a.wait = a.pieces[:opens], a.pieces[opens:], a.wait+a.gap*time.Duration(opens)
	}
}

// holdBack holds the answer back for most of its time and then sends it four times as fast.
func holdBack(a *reply) {
	whole := a.gap * time.Duration(len(a.pieces))
	a.gap /= 4
	a.wait += whole - a.gap*time.Duration(len(a.pieces))
}

// holdUnevenly also holds it for up to 200 ms more, in each launch for another time.
func holdUnevenly(a *reply) {
	holdBack(a)
	a.wait += time.Duration(math.Mod(1e4*math.Abs(a.s.speed-1), 1) * float64(200*time.Millisecond))
}
