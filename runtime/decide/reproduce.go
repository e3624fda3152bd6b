package decide

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Outcome is what came of making the decisions of another record again.
type Outcome string

const (
	// Reproduced: under the same conditions every verdict is the same, and every effect compatible.
	Reproduced Outcome = "reproduced"
	// NotReproduced: under the same conditions a verdict is another, or an effect is not compatible.
	NotReproduced Outcome = "not reproduced"
	// OtherConditions: all is decided, but something that numbers depend on differs.
	OtherConditions Outcome = "other conditions"
	// Undecided: a decision is missing, or it is open whether an effect is compatible.
	Undecided Outcome = "undecided"
)

// ExitCode is the exit status for an outcome.
func (o Outcome) ExitCode() int {
	switch o {
	case Reproduced:
		return verdict.ExitPass
	case NotReproduced:
		return verdict.ExitFail
	}
	return verdict.ExitInconclusive
}

// Reproduction is that outcome with all that it rests on.
type Reproduction struct {
	Outcome Outcome `json:"outcome"`
	// Of is the first record, Differs what differs between the two, and Decisions those of the first.
	Of        ledger.Reproduces `json:"of"`
	Differs   []Condition       `json:"differs,omitempty"`
	Decisions []Again           `json:"decisions"`
}

// Again is a decision of the first record and what it came to here.
type Again struct {
	Node string          `json:"node"`
	Was  verdict.Verdict `json:"was"`
	// Is is empty if it was not decided here, and Why then says why.
	Is  verdict.Verdict `json:"is,omitempty"`
	Why verdict.Reason  `json:"why,omitzero"`
	// Agrees is "yes", "no" or "open": of the verdicts, and of the effects if those are the same.
	Agrees  Agreement `json:"agrees"`
	Effects []Effect  `json:"effects,omitempty"`
}

type Agreement string

const (
	Yes  Agreement = "yes"
	No   Agreement = "no"
	Open Agreement = "open"
)

// Effect is one number that a rule tested, in both records.
type Effect struct {
	Rule string    `json:"rule"`
	Was  Estimated `json:"was"`
	Is   Estimated `json:"is"`
	// Apart is by how much the effect here exceeds the first one, as a share: 0.1 if a speed or a gain is
	// 1.1 times as large as there. Low and High are its interval; nil if launches are too few for one.
	Apart *float64 `json:"apart,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// Compatible is "open" without an interval.
	Compatible Agreement `json:"compatible"`
}

// Estimated is a test's number with the bounds of the decision.
type Estimated struct {
	Estimate *float64 `json:"estimate,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// N is the launches of each arm that it is of.
	N int `json:"n"`
}

const (
	// falseApart is the chance that any effect of an engine that did not change is called incompatible;
	// all effects of a reproduction share it.
	falseApart = 0.05
	// alike is the difference of two effects, in logs, that is compatible however exactly it is known:
	// one machine differs by that from day to day.
	alike = 0.03
)

// Reproduce compares decisions of a first record with those of the same nodes here, by node; locked is why
// others have none. What differs counts unless it is accepted.
func Reproduce(first []*ledger.Decision, here map[string]*ledger.Decision, locked map[string]verdict.Reason,
	differs []Condition,
) Reproduction {
	r := Reproduction{Differs: differs, Decisions: []Again{}}
	type pair struct{ was, is *verdict.Test }
	var pairs []pair
	var at [][2]int // of each pair's effect
	told := map[[4]string]bool{}
	for _, was := range first {
		a := Again{Node: was.Node, Was: was.Verdict, Agrees: Open}
		if is := here[was.Node]; is == nil {
			if a.Why = locked[was.Node]; a.Why.IsZero() {
				a.Why = verdict.Say("reproduce.undone", "it was not decided here")
			}
		} else if a.Is = is.Verdict; is.Verdict == was.Verdict {
			a.Agrees = Yes
			for _, rule := range was.Rules {
				for _, t := range tested(was, rule) {
					key := [4]string{t.Metric, t.Stat, t.Arm, t.Against}
					if told[key] {
						continue
					}
					told[key] = true
					pairs, at = append(pairs, pair{t, sameTest(is, rule.Name, t)}),
						append(at, [2]int{len(r.Decisions), len(a.Effects)})
					a.Effects = append(a.Effects, Effect{Rule: rule.Name})
				}
			}
		} else if is.Verdict == verdict.Pass || is.Verdict == verdict.Fail || is.Verdict == verdict.Invalid {
			a.Agrees, a.Why = No, causeOf(is)
		} else {
			a.Why = causeOf(is)
		}
		r.Decisions = append(r.Decisions, a)
	}
	for i, p := range pairs {
		a := &r.Decisions[at[i][0]]
		e := &a.Effects[at[i][1]]
		e.compare(p.was, p.is, falseApart/float64(len(pairs)))
		if a.Agrees == Yes || e.Compatible == No {
			a.Agrees = e.Compatible
		}
	}
	agree := func(is Agreement) bool {
		return slices.ContainsFunc(r.Decisions, func(a Again) bool { return a.Agrees == is })
	}
	same := !slices.ContainsFunc(differs, func(c Condition) bool { return !c.Accepted })
	switch {
	case same && agree(No):
		r.Outcome = NotReproduced
	case agree(Open), len(r.Decisions) == 0:
		r.Outcome = Undecided
	case !same:
		r.Outcome = OtherConditions
	default:
		r.Outcome = Reproduced
	}
	return r
}

// causeOf is the first cause of a decision that has its verdict, or else the first.
func causeOf(d *ledger.Decision) (cause verdict.Reason) {
	for _, r := range d.Why() {
		if r.Verdict == d.Verdict {
			return r
		}
		if cause.IsZero() {
			cause = r
		}
	}
	return cause
}

// tested are the tests of launches by which a rule that counts was decided.
func tested(d *ledger.Decision, r verdict.Rule) (all []*verdict.Test) {
	if !r.Decides && d.Kind != ledger.KindGate || r.Verdict != verdict.Pass && r.Verdict != verdict.Fail {
		return nil
	}
	for _, c := range r.Comparisons {
		if t := c.Test; t.N() > 0 && (t.Form == verdict.Ratio || t.Form == verdict.LogLevel) {
			all = append(all, t)
		}
	}
	return all
}

// sameTest is the test of a decision that asks what t asks; nil without one.
func sameTest(d *ledger.Decision, rule string, t *verdict.Test) *verdict.Test {
	for _, r := range d.Rules {
		for _, c := range r.Comparisons {
			if o := c.Test; r.Name == rule && o.N() > 0 && o.Form == t.Form && o.Metric == t.Metric &&
				o.Stat == t.Stat && o.Arm == t.Arm && o.Against == t.Against {
				return o
			}
		}
	}
	return nil
}

// compare fills in both estimates and how far apart they are, by the launches that decided.
func (e *Effect) compare(was, is *verdict.Test, alpha float64) {
	e.Was, e.Is, e.Compatible = estimated(was), estimated(is), Open
	if is == nil {
		return
	}
	d, err := stats.Apart(sides(is), sides(was), alpha)
	if err != nil {
		return
	}
	apart := math.Expm1(d.Estimate)
	if e.Apart = &apart; !d.Bounded {
		return
	}
	low, high := math.Expm1(d.Low), math.Expm1(d.High)
	e.Low, e.High, e.Compatible = &low, &high, compatible(d)
}

// compatible is whether two effects are the same as far as launches tell, or so nearly that it does not
// matter.
func compatible(d stats.Difference) Agreement {
	if d.Low <= 0 && d.High >= 0 || d.Low >= -alike && d.High <= alike {
		return Yes
	}
	return No
}

func sides(t *verdict.Test) stats.Sides {
	s := stats.Sides{Own: t.Values[:min(t.N(), len(t.Values))]}
	if t.Form == verdict.Ratio {
		s.Base = t.Base[:min(t.N(), len(t.Base))]
	}
	return s
}

func estimated(t *verdict.Test) Estimated {
	if t == nil {
		return Estimated{}
	}
	return Estimated{t.Estimate, t.Low, t.High, t.OwnUnit(), t.N()}
}

// Condition is one thing that numbers depend on, and that differs between two records.
type Condition struct {
	// Part is "arms", "engine", "model", "kernels", "gpu", "driver", "machine", "settings" or "mxflow"; Name is the
	// entry of the fingerprint, the observation or the setting.
	Part string `json:"part"`
	Name string `json:"name"`
	// Arm is where it was found first; empty of what all have.
	Arm string `json:"arm,omitempty"`
	// Was and Is are empty if it is absent.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	// Accepted is set if a person or the plan declares that it does not matter.
	Accepted bool `json:"accepted,omitempty"`
}

// Named reports whether a word of accept_fingerprint or --accept is about it.
func (c Condition) Named(word string) bool {
	return word == c.Name || word == c.Part || word == plans.AcceptAll ||
		word == plans.AcceptRepos && strings.HasPrefix(c.Name, "repo.")
}

// Made is what the decisions of a record were made of.
type Made struct {
	Tool string
	// Arms are a launch of each arm, and Files what it ran, the digest or version by name.
	Arms  map[string]*ledger.Launch
	Files map[string]map[string]string
	// Ahead is set if the launches are still to be made: what they lack is not known yet.
	Ahead bool
}

// partOf are the entries of a fingerprint that are not the machine's.
var partOf = map[string]string{
	"weights": "model", "model_revision": "model", "tokenizer": "model",
	"image": "engine", "engine_version": "engine", "packages": "engine", "python": "engine", "torch": "engine",
	"cuda": "engine", "cudnn": "engine", "nccl": "engine", "nvcc": "engine",
	"driver": "driver",
	"gpu":    "gpu", "power_limit": "gpu", "persistence": "gpu", "ecc": "gpu", "mig": "gpu", "application_clock": "gpu",
	"application_memory_clock": "gpu", "max_clock": "gpu",
}

// device is what distinguishes one GPU from another of its model.
var device = regexp.MustCompile(`\s*\(?(GPU-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)?`)

// Conditions are all known differences between what two records were made of, each once, with those of
// their plans. Which of several machines of one kind it was is none.
func Conditions(was, is Made, settings []plans.Difference, accept []string) (all []Condition) {
	add := func(part, name, arm, then, now string) {
		same := func(c Condition) bool { return c.Part == part && c.Name == name && c.Was == then && c.Is == now }
		if then != now && !slices.ContainsFunc(all, same) {
			c := Condition{Part: part, Name: name, Arm: arm, Was: then, Is: now}
			c.Accepted = slices.ContainsFunc(accept, c.Named)
			all = append(all, c)
		}
	}
	each := func(part, arm string, then, now map[string]string) {
		for name, values := range sorted.Union(then, now) {
			_, there := then[name]
			_, here := now[name]
			of := cmp.Or(partOf[name], part)
			if strings.HasPrefix(name, "repo.") {
				of = "engine"
			}
			if there && here || !is.Ahead {
				add(of, name, arm, device.ReplaceAllString(values[0], ""), device.ReplaceAllString(values[1], ""))
			}
		}
	}
	sameModel := false
	for name, then := range sorted.All(was.Arms) {
		now := is.Arms[name]
		if now == nil {
			if !is.Ahead {
				add("arms", name, "", "launched", "") // what is not known of it may differ
			}
			continue
		}
		each("arms", name, then.Knobs, now.Knobs) // the accepted stack may be another
		each("engine", name, engineOf(then), engineOf(now))
		each("engine", name, was.Files[name], is.Files[name])
		each("machine", name, hostless(then.Fingerprint), hostless(now.Fingerprint))
		each("kernels", name, wordsOf(then), wordsOf(now))
		weights := then.Fingerprint["weights"]
		sameModel = sameModel || weights != "" && weights == now.Fingerprint["weights"]
	}
	for _, s := range settings {
		if !sameModel || !strings.HasSuffix(s.Path, ".model") { // the same files elsewhere
			add("settings", s.Path, "", s.Was, s.Is)
		}
	}
	add("mxflow", "mxflow", "", was.Tool, is.Tool)
	return all
}

// hostless is a fingerprint without the name of the machine: elsewhere it is another.
func hostless(fingerprint map[string]string) map[string]string {
	out := maps.Clone(fingerprint)
	delete(out, "host")
	return out
}

// engineOf is what a launch ran as far as its own record has it: commits of sources, states of trees.
func engineOf(l *ledger.Launch) map[string]string {
	out := map[string]string{}
	for name, t := range l.Trees {
		out["tree "+name] = cmp.Or(t.Hash, t.Commit)
	}
	for name, value := range l.Engine {
		if of, is := strings.CutSuffix(name, ".commit"); is {
			delete(out, "tree "+of)
			out[of] = value
		}
	}
	return out
}

// wordsOf are the words that an engine reported: its choices, where numbers are what follows from them.
func wordsOf(l *ledger.Launch) map[string]string {
	out := map[string]string{}
	for name, o := range l.Observed {
		if _, isNumber := o.Value.(float64); !isNumber {
			out[name] = o.String()
		}
	}
	return out
}
