// Package replay repeats recorded decisions from their raw data and the recorded plan,
// for an audit. It reads the ledger's records, compiles recorded plans, and decides as an
// apply does. It starts nothing and writes nothing into the state directory.
package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Replay decides recorded decisions again, from the raw data that were kept. It starts
// nothing and writes nothing into the state directory. What several decisions share, a
// plan or a launch, is read once. It is not safe for concurrent use.
type Replay struct {
	store    *store.Store
	registry *plans.Registry
	// inputs are values of variables that the person gives, for what is not in the
	// ledger: sensitive ones.
	inputs []load.Given
	// key makes the marks that tell sensitive values apart, which are not on record; nil
	// if the state directory has none.
	key []byte
	// Judge decides levels again; if nil, none is.
	Judge Judge

	runs     map[string]*ledger.RunStart
	arch     map[string]string                    // by launch
	recorded map[string]int                       // the positions of launches in the ledger
	locked   map[string]map[string]verdict.Reason // nodes, by run
	plans    map[string]*recordedPlan
	launches map[string]*replayedLaunch
	noise    map[string]map[string]verdict.Noise
	tries    map[[5]string]int
}

type Outcome string

const (
	// Agrees: every verdict is the same, and every number bit for bit.
	Agrees Outcome = "agrees"
	// Differs: something does not.
	Differs Outcome = "differs"
	// Broken: what was kept is gone or damaged.
	Broken Outcome = "evidence missing"
	// Unruled: no rule decided, so there is none to decide again.
	Unruled Outcome = "no rules"
	// Unreplayed: none of it could be decided again.
	Unreplayed Outcome = "not replayed"
)

type Replayed struct {
	Node    string  `json:"node"`
	Attempt int     `json:"attempt"`
	Record  int     `json:"record"`
	Run     string  `json:"run"`
	InForce bool    `json:"in_force"`
	Outcome Outcome `json:"outcome"`
	// Recorded and Verdict are the verdicts of the whole, then and now; Verdict is empty if there is none.
	Recorded verdict.Verdict `json:"recorded"`
	Verdict  verdict.Verdict `json:"verdict,omitempty"`
	// Rules is the source of the rules, Why what prevented using the plan's.
	Rules RulesFrom      `json:"rules_from,omitempty"`
	Why   verdict.Reason `json:"why,omitzero"`
	// Numbers were compared, and Differences are those that differ.
	Numbers     int          `json:"numbers,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	// Unreplayed are levels that were not decided again: their verdicts are the ledger's.
	Unreplayed []string `json:"unreplayed,omitempty"`
	// LedgerOnly is what else it rests on that only the ledger shows.
	LedgerOnly []string `json:"ledger_only,omitempty"`
	// Notes are what to know about an agreement, such as another architecture.
	Notes []verdict.Reason `json:"notes,omitempty"`
}

// Difference is one value that came out differently.
type Difference struct {
	// Rule is the rule's name, or "launch ID", "noise", "decision"; What is the place in
	// it, such as "comparisons[1].test.looks[1].p_pass".
	Rule string `json:"rule"`
	What string `json:"what"`
	// Recorded and Replayed are the values on both sides, "absent" if there is none.
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// New prepares to replay the contents of a state directory. The registry compiles
// recorded plans.
func New(st *store.Store, registry *plans.Registry, inputs []load.Given) *Replay {
	r := &Replay{
		store: st, registry: registry, inputs: inputs,
		runs: map[string]*ledger.RunStart{}, arch: map[string]string{}, recorded: map[string]int{},
		locked: map[string]map[string]verdict.Reason{},
		plans:  map[string]*recordedPlan{}, launches: map[string]*replayedLaunch{},
		noise: map[string]map[string]verdict.Noise{}, tries: map[[5]string]int{},
	}
	if key, err := store.KnownSecretKey(st.Dir()); err == nil {
		r.key = key
	}
	for i, rec := range st.Records() {
		switch {
		case rec.RunStart != nil:
			r.runs[rec.Run] = rec.RunStart
		case rec.End != nil:
			r.locked[rec.Run] = rec.End.Locked
		case rec.Launch != nil:
			r.recorded[rec.Launch.ID] = i
			if start := r.runs[rec.Run]; start != nil {
				r.arch[rec.Launch.ID] = start.Environment["arch"]
			}
		}
	}
	return r
}

// Decisions returns the recorded decisions that can at least partly be decided again,
// oldest first, superseded ones included.
func (r *Replay) Decisions() (out []ledger.Decided) {
	for i, rec := range r.store.Records() {
		if d := rec.Decision; d != nil && r.replayable(d) {
			out = append(out, ledger.Decided{Decision: d, Record: i, Run: rec.Run, Time: rec.Time})
		}
	}
	return out
}

func (r *Replay) replayable(d *ledger.Decision) bool {
	return byRules(d) || d.Kind == ledger.KindQualify || d.Kind == ledger.KindBenchmark || r.stepReplayable(d)
}

// LedgerOnly returns the newest decisions of steps that are not decided again.
func (r *Replay) LedgerOnly() (out []ledger.Decided) {
	for _, d := range r.store.Decisions() {
		if d.Kind == ledger.KindStep && !r.stepReplayable(d.Decision) && !d.Derived {
			out = append(out, d)
		}
	}
	return out
}

// byRules reports whether decisions of that kind are made by rules.
func byRules(d *ledger.Decision) bool {
	return slices.Contains([]string{ledger.KindFeature, ledger.KindCriteria, ledger.KindGate}, d.Kind)
}

func (r *Replay) Decide(d ledger.Decided) Replayed {
	out := Replayed{Node: d.Node, Attempt: d.Attempt, Record: d.Record, Run: d.Run, Recorded: d.Verdict}
	if latest, _, ok := r.store.Latest(d.Node); ok {
		out.InForce = latest == d.Decision
	}
	switch {
	case d.Kind == ledger.KindQualify:
		r.decideLevels(&out, d)
		return out
	case d.Kind == ledger.KindBenchmark:
		r.decideBenchmark(&out, d)
		return out
	case d.Kind == ledger.KindStep:
		r.decideStep(&out, d)
		return out
	case !hasRules(d.Decision):
		out.Outcome, out.Why = Unruled, verdict.New(code.NoRule).From(first(d.Why())...)
		return out
	case d.Statistics == nil || len(d.Evidence) == 0:
		out.Outcome, out.Why = Broken,
			verdict.Say("replay.kept_not_what", "its record lacks the evidence that decided it")
		return out
	}
	ev, err := r.evidence(&out, d.Evidence)
	if err != nil {
		out.Outcome, out.Why = Broken, verdict.OfError(err)
		return out
	}
	rules := r.rulesOf(d, ev)
	if out.Rules = rules.from; len(rules.parts) == 0 {
		out.Outcome, out.Why = Unreplayed, rules.why
		return out
	}
	r.checkNoise(&out, d, rules)
	r.checkTries(&out, d)
	r.levelsRead(&out, d)
	out.Notes = append(out.Notes, rules.notes...)
	out.Differences = append(out.Differences, rules.differ...)
	r.decideRules(&out, d, rules)
	out.conclude()
	return out
}

func hasRules(d *ledger.Decision) bool {
	return len(d.Rules) > 0 || slices.ContainsFunc(d.Alternatives, func(alt ledger.Alternative) bool {
		return len(alt.Rules) > 0
	})
}

// first returns the first of several reasons, if any.
func first(reasons []verdict.Reason) []verdict.Reason { return reasons[:min(1, len(reasons))] }

func (out *Replayed) differ(rule, what, recorded, replayed string) {
	out.Differences = append(out.Differences, Difference{rule, what, recorded, replayed})
}

func (out *Replayed) note(note verdict.Reason) {
	if !slices.ContainsFunc(out.Notes, note.Equal) {
		out.Notes = append(out.Notes, note)
	}
}

// decideRules decides the rules of a decision, and from them the whole.
func (r *Replay) decideRules(out *Replayed, d ledger.Decided, rules replayRules) {
	settings := *d.Statistics
	var verdicts []verdict.Verdict
	var decided [][]verdict.Rule
	for _, part := range rules.parts {
		gate := runtime.Kind(d.Kind) == runtime.KindGate
		replayed := decide.Rules(part.rules, func(i int) bool {
			return part.recorded[i].Decides || gate
		}, part.evidence, settings)
		for i, rec := range part.recorded {
			replayed[i].Decides = rec.Decides
		}
		r.compareRules(out, part.recorded, replayed, d.Run)
		levels := d.Levels
		if part.alternative != nil {
			levels = decide.LevelsRead(part.evidence[d.Feature])
		}
		v := r.withholdRelaxed(out, d, part, decide.JoinVerdicts(d.Kind, levels, replayed))
		verdicts = append(verdicts, v)
		decided = append(decided, replayed)
		if alt := part.alternative; alt != nil && v != alt.Verdict {
			out.differ(alt.Name, "verdict", string(alt.Verdict), string(v))
		}
	}
	out.Verdict = verdicts[0]
	if len(d.Alternatives) > 0 {
		out.Verdict = r.choose(out, d, rules, verdicts)
	}
	for _, c := range d.Confirmations {
		// Each was decided by itself, and is replayed by itself.
		if c.Verdict != "" {
			out.Verdict = verdict.Join(out.Verdict, c.Verdict)
		}
	}
	if out.Verdict != d.Verdict {
		out.differ("decision", "verdict", string(d.Verdict), string(out.Verdict))
	}
	// Decisions of gates keep no findings, and those of another version of deciding have
	// others.
	if runtime.Kind(d.Kind) != runtime.KindGate && d.Statistics.Version == decide.Version {
		shown := rules.shownPart(d)
		part := rules.parts[shown]
		findings(out, d.Findings, gates.Findings(part.rules, decided[shown], part.evidence, settings))
	}
	if rules.from == RulesOfPlan {
		r.hypothesis(out, d, rules)
	}
}

// shownPart is the part that the rest of a decision is about: the alternative that was
// chosen, or is shown if none was.
func (rules replayRules) shownPart(d ledger.Decided) int {
	return max(0, slices.IndexFunc(rules.parts, func(p rulePart) bool {
		return p.alternative != nil && reflect.DeepEqual(p.alternative.Rules, d.Rules)
	}))
}

// findings compares the facts beside a verdict: which metrics, in which order, and why.
func findings(out *Replayed, recorded, replayed []verdict.Reason) {
	keys := func(all []verdict.Reason) (keys []string) {
		for _, r := range all {
			keys = append(keys, r.Key())
		}
		return keys
	}
	if was, is := keys(recorded), keys(replayed); !slices.Equal(was, is) {
		out.differ("decision", "findings", strings.Join(was, ", "), strings.Join(is, ", "))
	}
}

// withholdRelaxed withdraws a pass again if rules were relaxed after their launches were seen: what
// was asked then and at the decision is on record.
func (r *Replay) withholdRelaxed(out *Replayed, d ledger.Decided, part rulePart, v verdict.Verdict) verdict.Verdict {
	start := r.runs[d.Run]
	if start == nil || start.Goals == nil || v != verdict.Pass {
		return v
	}
	if plan := r.planOf(d.Run); plan.exact &&
		runtime.Digest(decide.Goals(plan.res.Plan)) != runtime.Digest(start.Goals) {
		out.differ("run "+d.Run, "goals", "as recorded", "another")
	}
	node, evidence := d.Node, d.Evidence
	if runtime.Kind(d.Kind) != runtime.KindGate {
		name := runtime.CandidateOf(d.Node)
		if part.alternative != nil {
			name = part.alternative.Name
			evidence = slices.DeleteFunc(slices.Clone(evidence), func(e gates.Feature) bool { return e.Name != name })
		}
		node = runtime.FeatureID(name)
	}
	before := func(yield func(int, *ledger.Record) bool) {
		for i, rec := range r.store.Records() {
			if i >= d.Record || !yield(i, rec) {
				return
			}
		}
	}
	if len(decide.Relaxed(before, start.Goals, node, evidence)) > 0 {
		return verdict.Inconclusive
	}
	return v
}

// choose chooses among alternatives again. Which is best can only be told if the
// plan is available, which names the metric.
func (r *Replay) choose(out *Replayed, d ledger.Decided, rules replayRules,
	verdicts []verdict.Verdict,
) verdict.Verdict {
	var all []*decide.Alternative
	for i, part := range rules.parts {
		all = append(all, &decide.Alternative{
			Feature:  &plans.Feature{Name: part.alternative.Name},
			Decision: &ledger.Decision{Verdict: verdicts[i]},
		})
	}
	total := decide.VerdictOf(all)
	plan := r.planOf(d.Run)
	f := plan.res.Plan.Feature(d.Feature)
	if !plan.exact || f == nil || f.Choose == nil || f.Choose.Probe == nil {
		out.note(verdict.Say("replay.best_unknown", "The best alternative of {subject} was not recomputed.").
			On(d.Feature))
		return total
	}
	for i, part := range rules.parts {
		all[i].Gain = decide.Preferred(f.Choose, part.evidence, *d.Statistics)
	}
	best := decide.Best(all)
	for i, part := range rules.parts {
		alt := part.alternative
		if chosen := all[i] == best && total == verdict.Pass; chosen != alt.Chosen {
			out.differ(alt.Name, "chosen", yesNo(alt.Chosen), yesNo(chosen))
		}
		if all[i] == best && !reflect.DeepEqual(alt.Rules, d.Rules) {
			out.differ("decision", "rules", "of another alternative", "of "+alt.Name)
		}
	}
	return total
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (r *Replay) hypothesis(out *Replayed, d ledger.Decided, rules replayRules) {
	h := d.Hypothesis
	f := r.planOf(d.Run).res.Plan.Feature(d.Feature)
	if h == nil || h.Test == nil || f == nil || f.Hypothesis == nil || f.Hypothesis.Probe == nil {
		return
	}
	outcome, rule := gates.DecideHypothesis(f.Hypothesis.Probe, decide.Decisive(f),
		rules.parts[rules.shownPart(d)].evidence, *d.Statistics)
	if outcome != h.Outcome {
		out.differ("hypothesis", "outcome", h.Outcome, outcome)
	}
	rule.Decides = h.Test.Decides
	r.compareRules(out, []verdict.Rule{*h.Test}, []verdict.Rule{rule}, d.Run)
}

// compareRules compares decided rules with the recorded ones: the verdicts of rules and
// comparisons, and every number, bit for bit. Words are not compared, as a later version
// may choose better ones.
func (r *Replay) compareRules(out *Replayed, recorded, replayed []verdict.Rule, run string) {
	tolerance := 0.0
	if start := r.runs[run]; start != nil {
		tolerance = r.tolerance(out, start.Environment["arch"])
	}
	for i := range recorded {
		if i >= len(replayed) {
			out.differ(recorded[i].Name, "rule", string(recorded[i].Verdict), "absent")
			continue
		}
		compareJSON(out, recorded[i].Name, "", withoutTexts(recorded[i]), withoutTexts(replayed[i]), tolerance)
	}
}

// tolerance is how far numbers recorded on a processor may be off.
func (r *Replay) tolerance(out *Replayed, arch string) float64 {
	if arch == "" || arch == goruntime.GOARCH {
		return 0
	}
	out.note(verdict.Say("replay.decided_elsewhere",
		"Decided on {arch}: numbers had to agree within {tolerance} only.",
		verdict.Text("arch", arch), verdict.Num("tolerance", ElsewhereTolerance, "")))
	return ElsewhereTolerance
}

// compareJSON finds where two values differ in recorded form.
func compareJSON(out *Replayed, rule, what string, recorded, replayed any, tolerance float64) {
	x, errX := json.Marshal(recorded)
	if errX == nil && reflect.DeepEqual(recorded, replayed) {
		out.Numbers += numbersIn(x)
		return
	}
	y, errY := json.Marshal(replayed)
	if errX != nil || errY != nil {
		out.differ(rule, what, fmt.Sprint(errX), fmt.Sprint(errY))
		return
	}
	out.Numbers += numbersIn(x)
	if bytes.Equal(x, y) {
		return
	}
	var a, b any
	if json.Unmarshal(x, &a) != nil || json.Unmarshal(y, &b) != nil {
		out.differ(rule, what, string(x), string(y))
		return
	}
	d := treeDiff{out: out, rule: rule, tolerance: tolerance}
	d.walk(what, a, b)
}

// withoutTexts is a rule without what only goes into words.
func withoutTexts(r verdict.Rule) verdict.Rule {
	r.Reasons, r.Source, r.Role = nil, "", ""
	r.Comparisons = slices.Clone(r.Comparisons)
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Left, c.Right = verdict.Value{}, verdict.Value{}
		if c.Test != nil {
			t := *c.Test
			t.Share, t.Note, t.Beside = nil, verdict.Reason{}, nil // implied by the rest
			c.Test = &t
		}
	}
	r.Inputs = slices.Clone(r.Inputs)
	for i := range r.Inputs {
		if !r.Inputs[i].Missing.IsZero() {
			r.Inputs[i].Missing = verdict.New(code.Missing)
		}
	}
	return r
}

// numbersIn counts the numbers of a JSON text, roughly as a person would: each run of
// digits after a colon, a comma or a bracket.
func numbersIn(text []byte) (n int) {
	before := byte(0)
	for _, c := range text {
		if (c >= '0' && c <= '9' || c == '-') && (before == ':' || before == ',' || before == '[') {
			n++
		}
		before = c
	}
	return n
}

// treeDiff finds where two JSON values differ.
type treeDiff struct {
	out       *Replayed
	rule      string
	tolerance float64
}

func (d treeDiff) walk(path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			keys := slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y)))
			slices.Sort(keys)
			for _, k := range slices.Compact(keys) {
				d.walk(join(path, k), x[k], y[k])
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				d.walk(fmt.Sprintf("%s[%d]", path, i+1), x[i], y[i])
			}
			return
		}
	case float64:
		if y, ok := b.(float64); ok && (x == y || math.Abs(x-y) <= d.tolerance*max(math.Abs(x), math.Abs(y))) {
			return
		}
	default:
		if a == b {
			return
		}
	}
	d.out.differ(d.rule, path, jsonText(a), jsonText(b))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func jsonText(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	text, _ := json.Marshal(v)
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%s… (%d bytes)", redact.ProcessSecrets().Cut(string(text), most), len(text))
	}
	return string(text)
}
