package quality

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
)

// Settings are the attributes of a level "correctness".
type Settings struct {
	Prompts      int   `hcl:"prompts,optional" default:"32" min:"4" max:"1024" doc:"How many prompts are sent."`
	OutputTokens int   `hcl:"output_tokens,optional" default:"64" unit:"tokens" min:"1" max:"4096" doc:"Maximum length of each answer."`
	PromptTokens []int `hcl:"prompt_tokens,optional" unit:"tokens" min:"1" max:"20000000" doc:"Lengths of the prompts. By default those of the benchmark's workloads, at most 512."`
	Concurrency  []int `hcl:"concurrency,optional" unit:"requests" min:"1" max:"1024" doc:"How many prompts are sent at a time. By default as many as the benchmark's workloads send, at most 16."`
	Top          int   `hcl:"top,optional" default:"20" unit:"tokens" min:"1" max:"1024" doc:"Likeliest tokens compared at each position. Fewer if the engine lists fewer."`
	// Within is the time limit for asking a launch.
	Within                plans.Dur `hcl:"within,optional" default:"20s" doc:"Time after which the parent gets no more prompts. At the end of a measured launch it is a quarter of this. So a slow engine gets fewer. The other arms get the same ones."`
	MaxKL                 *float64  `hcl:"max_kl,optional" unit:"nats/token" min:"0" doc:"Maximum mean Kullback-Leibler divergence from the parent. The mean is over positions, of prefill or decode, whichever is worse."`
	MaxKLP99              *float64  `hcl:"max_kl_p99,optional" unit:"nats/token" min:"0" doc:"Maximum of its 99th percentile."`
	MinArgmaxMatch        *float64  `hcl:"min_argmax_match,optional" unit:"share" min:"0" max:"1" doc:"Minimum share of positions with the same likeliest token. Near-ties count as the same."`
	MaxPerplexityIncrease *float64  `hcl:"max_perplexity_increase,optional" unit:"ratio" min:"0" doc:"Maximum perplexity above the parent's: 0.01 is 1%. It is measured on a built-in text."`
	_                     *float64  `hcl:"min_agreement,optional" unit:"share" min:"0" max:"1" requires:"answers=checked" doc:"Minimum agreement, for ports that change answers on purpose. Quantisation and sampling are examples. It is the share of positions of the port's measured answers at which the parent must be shown to agree. The verdict names it. Without it, no more than 15 points below the parent's agreement with itself."`
	_                     string    `hcl:"answers,optional" oneof:"checked|unchecked" default:"checked" doc:"'unchecked' does not compare measured answers with the parent's. Every verdict then reports it."`
}

// words are the findings as texts name them.
var words = map[string]string{KL: "KL", KLP99: "KL p99", Argmax: "argmax match", Perplexity: "perplexity"}

// The names of the findings, as rules have them after "levels.correctness.".
const (
	KL         = "kl"
	KLP99      = "kl_p99"
	Argmax     = "argmax_match"
	Perplexity = "perplexity"
)

const (
	// nearTie is a gap of log-probabilities that rounding closes: half precision and
	// another summation order shift them by that much.
	nearTie = 0.1
	// surely is the p below which answers differ by more than those of the parent's
	// launches do, and many the factor that needs no test: a test would not notice one
	// wrong prompt in 32.
	surely, many = 0.01, 4
	// fewest is how many positions a comparison needs.
	fewest = 64
)

func flat(r *Recording) (all []answers.Answer) {
	for _, cell := range r.Answers {
		all = append(all, cell...)
	}
	return all
}

// distances are how answers compare with others, over all pairs of launches.
type distances struct {
	pairs []answers.Comparison
	// by is the value of each name, apart the distance of each prompt's answers.
	by    map[string]float64
	apart map[string][]float64
	// part is which positions are the farthest apart: "prefill" or "decode".
	part      string
	positions int
}

// compareAll compares launches with others, each with each.
func compareAll(own, against []*Recording) (f distances, err error) {
	f.by, f.apart = map[string]float64{}, map[string][]float64{}
	for _, o := range own {
		for _, a := range against {
			if o == a {
				continue
			}
			if !o.Same(a) {
				return f, &verdict.Fault{Reason: verdict.Say("quality.other_prompts",
					"the compared launches got different prompts")}
			}
			h, err := answers.Compare(flat(a), flat(o), nearTie)
			if err != nil {
				return f, err
			}
			f.pairs = append(f.pairs, h)
		}
	}
	f.sum()
	return f, nil
}

// endless stands for an unbounded divergence, which JSON cannot represent.
const endless = 1e3

// divergence is the divergence in a part, for which lists give a lower bound; 0 for no
// positions.
func divergence(least float64) float64 {
	if math.IsNaN(least) {
		return endless
	}
	return min(least, endless)
}

func (f *distances) sum() {
	var apart, ranked int
	parts := [2]struct{ sum, p99, n float64 }{}
	for _, h := range f.pairs {
		for i, p := range [2]answers.Part{h.Prefill, h.Decode} {
			t := &parts[i]
			t.sum += divergence(p.Mean) * float64(p.Compared)
			t.n += float64(p.Compared)
			t.p99 = max(t.p99, divergence(p.P99))
			ranked, f.positions = ranked+p.Ranked, f.positions+p.Compared
		}
		for i, p := range h.Pairs {
			tie := p.Divergence != nil && p.Divergence.Tie
			sum, n := 0.0, 0
			off := 0
			for _, part := range []answers.Part{p.Prefill, p.Decode} {
				sum += divergence(part.Mean) * float64(part.Compared)
				n += part.Compared
				off += part.Ranked - part.Argmax
			}
			switch {
			case tie:
				off = max(0, off-1)
			case p.Divergence != nil:
				off = max(off, 1) // whatever its list says, its answer differed, or had ended
			}
			apart += off
			for name, distance := range sorted.All(map[string]float64{
				KL: sum / float64(max(n, 1)), KLP99: max(divergence(p.Prefill.P99), divergence(p.Decode.P99)),
				Argmax: float64(off) / float64(max(p.Prefill.Ranked+p.Decode.Ranked, 1)),
			}) {
				for len(f.apart[name]) <= i {
					f.apart[name] = append(f.apart[name], 0)
				}
				f.apart[name][i] += distance / float64(len(f.pairs))
			}
		}
	}
	for i, p := range parts {
		mean := p.sum / max(p.n, 1)
		if p.n > 0 && (f.part == "" || mean > f.by[KL]) {
			f.by[KL], f.part = mean, [2]string{"prefill", "decode"}[i]
		}
		if p.n > 0 {
			f.by[KLP99] = max(f.by[KLP99], p.p99)
		}
	}
	if ranked > 0 {
		f.by[Argmax] = float64(max(0, ranked-apart)) / float64(ranked)
	}
}

// perplexity is the perplexity of the shipped text, averaged over launches in logs.
func perplexity(all []*Recording) (float64, bool) {
	var values []float64
	for _, r := range all {
		if r.Text == nil {
			return 0, false
		}
		text := []answers.Answer{*r.Text}
		c, err := answers.Compare(text, text, 0)
		p, ok := c.Got.Perplexity.Finite()
		if err != nil || !ok || p <= 0 {
			return 0, false
		}
		values = append(values, p)
	}
	mean, err := stats.Mean(values)
	return mean, err == nil
}

// Values are what a level found for a variant, by name.
type Values map[string]float64

// Finds are the possible names. For a parent they are how far apart its own launches are.
var Finds = []plans.LevelResult{
	{
		Name: KL, Unit: "nats/token", Better: "lower",
		Doc: "Mean Kullback-Leibler divergence from the parent, of prefill or decode, whichever is greater.",
	},
	{Name: KLP99, Unit: "nats/token", Better: "lower", Doc: "Its 99th percentile."},
	{
		Name: Argmax, Unit: "share", Better: "higher",
		Doc: "Share of positions where both have the same likeliest token; near-ties count as the same.",
	},
	{
		Name: Perplexity, Unit: "", Better: "lower",
		Doc: "On a built-in text, if the engine returns log-probabilities of prompts.",
	},
}

// AnswersUsable is the verdict on answers by themselves; none if they are usable.
func AnswersUsable(r *Recording) (verdict.Verdict, []verdict.Reason) {
	c, err := answers.Compare(flat(r), flat(r), 0)
	if err != nil {
		return verdict.Error, []verdict.Reason{verdict.OfError(err)}
	}
	if f := c.Got.Flaws; f.Any() {
		return verdict.Fail, verdict.Because(code.Of("quality.flaws",
			"impossible log-probabilities: {nan} NaN, {inf} infinite, {above} above 0, {sums} lists that sum to "+
				"more than 1, {repeated} that list a token twice"),
			verdict.Int("nan", f.NaN), verdict.Int("inf", f.Inf), verdict.Int("above", f.Above),
			verdict.Int("sums", f.Sums), verdict.Int("repeated", f.Repeated))
	}
	tokens := 0
	for _, a := range flat(r) {
		tokens += len(a.Tokens)
	}
	if tokens == 0 {
		return verdict.Fail, verdict.Because(code.Of("quality.empty",
			"no token in the answers to {prompts|prompt|prompts}"),
			verdict.Int("prompts", len(flat(r))))
	}
	return "", nil
}

// Judge compares a variant's answers with those of its parent's launches, given the noise
// among these. A value within its limit passes; one beyond it fails unless the parent's
// own noise explains it.
func (s *Settings) Judge(own *Recording, parent []*Recording, name string) (verdict.Verdict, []verdict.Reason, Values) {
	if v, why := AnswersUsable(own); v != "" {
		return v, why, nil
	}
	f, err := compareAll([]*Recording{own}, parent)
	if err != nil {
		return verdict.Error, []verdict.Reason{verdict.OfError(err)}, nil
	}
	noise, err := compareAll(parent, parent)
	if err != nil {
		return verdict.Error, []verdict.Reason{verdict.OfError(err)}, nil
	}
	for _, h := range slices.Concat(f.pairs, noise.pairs) {
		if h.Reference.Flaws.Any() {
			return verdict.Invalid, verdict.Because(code.Of("quality.parent_flaws",
				"{parent} itself answers with impossible log-probabilities"),
				verdict.Text("parent", name)), nil
		}
		if err := h.Complete(); err != nil && s.needsLists() {
			return verdict.Error, verdict.Because(code.QualityMissing, verdict.Err(err)), nil
		}
	}
	values := Values(f.by)
	p, known := perplexity([]*Recording{own})
	base, also := perplexity(parent)
	if known && also {
		values[Perplexity] = p
	}
	v := verdict.Pass
	var over, notes []verdict.Reason
	for _, l := range s.limits() {
		value, there := f.by[l.name]
		least, has := noise.by[l.name]
		if l.name == Perplexity {
			if !known || !also {
				return verdict.Error, verdict.Because(code.QualityNoText), nil
			}
			value, there = p/base-1, true
			if len(parent) > 1 {
				a, _ := perplexity(parent[:1])
				b, ok := perplexity(parent[1:2])
				least, has = math.Abs(a/b-1), ok && a > 0
			}
		}
		if !there {
			return verdict.Error, verdict.Because(code.QualityMissing), nil
		}
		args := []verdict.Arg{
			verdict.Text("name", cmp.Or(words[l.name], l.name)), verdict.Num("value", value, l.unit),
			verdict.Num("limit", l.limit, l.unit),
		}
		if l.least {
			args = append(args, verdict.Text("least", "yes"))
		}
		if l.name == KL {
			args = append(args, verdict.Text("part", f.part))
		}
		if has {
			args = append(args, verdict.Text("parent", name), verdict.Num("noise", least, l.unit))
		}
		switch {
		case l.least && value >= l.limit || !l.least && value <= l.limit:
			notes = append(notes, verdict.Say("quality.within",
				distance,
				args...).On(l.name))
		case has && !l.beyond(value, least, f.apart[l.name], noise.apart[l.name]):
			notes = append(notes, verdict.Say("quality.noise",
				distance+": over the limit, but within that noise",
				args...).On(l.name))
		default:
			v = verdict.Fail
			over = append(over, verdict.Say("quality.over",
				distance,
				args...).On(l.name))
		}
	}
	if v == verdict.Fail {
		if d := f.first(name); !d.IsZero() {
			over = append(over, d)
		}
		return v, over, values
	}
	// With several launches, the same positions are compared several times.
	n := math.MaxInt
	if s.needsLists() {
		n = f.positions / max(len(f.pairs), 1)
	}
	if n < fewest {
		return verdict.Inconclusive, verdict.Because(code.Of("quality.few",
			"only {positions|position|positions} could be compared, and {least} are needed: raise prompts or "+
				"output_tokens"),
			verdict.Int("positions", n), verdict.Int("least", fewest)), values
	}
	return v, append(notes, f.differences(name)), values
}

// BitEqual is how many tokens two launches answered with, if each has the same text and the same
// log-probabilities in both; 0 if anything differs or was not given.
func BitEqual(a, b *Recording) (tokens int) {
	list := func(x, y answers.Alternative) bool {
		_, given := x.LogProb.Finite()
		return given && x == y
	}
	token := func(x, y answers.Token) bool {
		tokens++
		_, given := x.LogProb.Finite()
		return given && x.Text == y.Text && x.ID == y.ID && x.LogProb == y.LogProb &&
			slices.EqualFunc(x.Top, y.Top, list)
	}
	answer := func(x, y answers.Answer) bool {
		return x.Text == y.Text && slices.EqualFunc(x.Tokens, y.Tokens, token)
	}
	if !a.Same(b) || !slices.EqualFunc(flat(a), flat(b), answer) {
		return 0
	}
	return tokens
}

// CompareWithItself is how far apart launches of one variant are, the yardstick for candidates. It
// sets no limit: an engine may be as noisy as it is.
func (s *Settings) CompareWithItself(all []*Recording) (verdict.Verdict, []verdict.Reason, Values) {
	for _, r := range all {
		if v, why := AnswersUsable(r); v != "" {
			return v, why, nil
		}
	}
	f, err := compareAll(all, all)
	if err != nil {
		return verdict.Error, []verdict.Reason{verdict.OfError(err)}, nil
	}
	for _, h := range f.pairs {
		if err := h.Complete(); err != nil && s.needsLists() {
			return verdict.Error, verdict.Because(code.QualityMissing, verdict.Err(err)), nil
		}
	}
	values := Values(f.by)
	p, known := perplexity(all)
	if known {
		values[Perplexity] = p
	} else if s.MaxPerplexityIncrease != nil {
		return verdict.Error, verdict.Because(code.QualityNoText), nil
	}
	args := []verdict.Arg{verdict.Int("launches", len(all)), verdict.Int("answers", len(flat(all[0])))}
	if kl, there := f.by[KL]; there {
		args = append(args, verdict.Num("kl", kl, "nats/token"), verdict.Num("argmax", f.by[Argmax], "share"))
	}
	return verdict.Pass, verdict.Because(code.Of("quality.itself",
		"{answers|answer|answers} from each of {launches} launches of itself{kl?: KL {kl}, argmax match {argmax}}"),
		args...), values
}

// Summary is how much was answered, if there is nothing to compare with.
func (r *Recording) Summary() verdict.Reason {
	all := flat(r)
	tokens := 0
	for _, a := range all {
		tokens += len(a.Tokens)
	}
	return verdict.Say("quality.answered", "{answers|answer|answers} of {tokens|token|tokens} recorded",
		verdict.Int("answers", len(all)), verdict.Int("tokens", tokens))
}

type limit struct {
	name, unit string
	limit      float64
	// least is set for a lower limit.
	least bool
}

// Limited reports whether something limits how far apart answers may be.
func (s *Settings) Limited() bool { return len(s.limits()) > 0 }

func (s *Settings) limits() (all []limit) {
	add := func(name, unit string, value *float64, least bool) {
		if value != nil {
			all = append(all, limit{name, unit, *value, least})
		}
	}
	add(KL, "nats/token", s.MaxKL, false)
	add(KLP99, "nats/token", s.MaxKLP99, false)
	add(Argmax, "share", s.MinArgmaxMatch, true)
	add(Perplexity, "ratio", s.MaxPerplexityIncrease, false)
	return all
}

// needsLists reports whether a limit needs the log-probabilities of several tokens.
func (s *Settings) needsLists() bool {
	return s.MaxKL != nil || s.MaxKLP99 != nil || s.MinArgmaxMatch != nil
}

// distance is a finding beside its limit.
const distance = "{name}{part? of {part}} {value} (allowed {least?≥}{least!≤} {limit}{noise?; {parent} against " +
	"itself {noise}})"

// beyond reports whether a value exceeds the difference among the parent's launches: by
// the prompts whose answers are farther apart than the parent's own (sign test), or by
// its size.
func (l limit) beyond(value, noise float64, apart, own []float64) bool {
	if l.least {
		value, noise = 1-value, 1-noise
	}
	if !(value <= many*noise) {
		return true
	}
	apart, own = apart[:min(len(apart), len(own))], own[:min(len(apart), len(own))]
	differences := make([]float64, len(own))
	for i := range own {
		differences[i] = apart[i] - own[i]
	}
	p, _, err := stats.Signs(differences)
	return err != nil && len(differences) > 0 || p < surely
}

// first is the first divergence that is not a near-tie.
func (f *distances) first(parent string) verdict.Reason {
	for _, h := range f.pairs {
		for i, p := range h.Pairs {
			d := p.Divergence
			if d == nil || d.Tie {
				continue
			}
			args := []verdict.Arg{
				verdict.Int("prompt", i+1), verdict.Int("token", d.At+1),
				verdict.Text("parent", parent),
			}
			for name, token := range sorted.All(map[string]*answers.Alternative{"was": d.Reference, "is": d.Got}) {
				switch {
				case token == nil: // its answer had ended
				case token.Text == "" && token.ID >= 0:
					args = append(args, verdict.Int(name+"_id", token.ID))
				default:
					args = append(args, verdict.Text(name, token.Text))
				}
			}
			if gap, ok := d.Gap.Finite(); ok {
				args = append(args, verdict.Num("gap", gap, "nats"))
			}
			return verdict.Say("quality.diverged",
				"prompt {prompt}, token {token}: {was_id?id {was_id}}{was_id!{was?{was:q}}{was!the end of the "+
					"answer}} from {parent}, here {is_id?id {is_id}}{is_id!{is?{is:q}}{is!the end of the "+
					"answer}}{gap?, {gap} less likely}",
				args...)
		}
	}
	return verdict.Reason{}
}

// differences counts what differs, near-ties separately.
func (f *distances) differences(parent string) verdict.Reason {
	answers, diverged, tied := 0, 0, 0
	for _, h := range f.pairs {
		for _, p := range h.Pairs {
			answers++
			if p.Divergence != nil {
				diverged++
				if p.Divergence.Tie {
					tied++
				}
			}
		}
	}
	args := []verdict.Arg{
		verdict.Int("answers", answers), verdict.Int("diverged", diverged), verdict.Int("ties", tied),
		verdict.Text("parent", parent),
	}
	if f.positions > 0 {
		args = append(args, verdict.Int("positions", f.positions))
	}
	return verdict.Say("quality.differ",
		"{diverged} of {answers} pairs of answers differ, {ties} at a near-tie{positions?; "+
			"{positions|position|positions} compared with {parent}'s}",
		args...)
}
