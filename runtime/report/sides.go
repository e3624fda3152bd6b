package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Pair is one variant, or two, on two sides: the launches of one session each.
type Pair struct {
	Old PairSide `json:"old"`
	New PairSide `json:"new"`
	// Notes are the limitations of Metrics.
	Metrics []Comparison     `json:"deltas"`
	Notes   []verdict.Reason `json:"notes,omitempty"`
}

// PairSide is a variant and the source of its launches.
type PairSide struct {
	// Asked is the name that a person gave, Variant what it resolves to.
	Asked    string           `json:"asked"`
	Variant  string           `json:"variant"`
	Session  string           `json:"session"`
	Launches []*ledger.Launch `json:"-"`
}

// Title is "kv_cache (s-818b7c67db)".
func (s PairSide) Title() string { return fmt.Sprintf("%s (%s)", s.Variant, s.Session) }

// Title is what is compared, and the source of its launches.
func (p Pair) Title() string {
	if p.Old.Session == p.New.Session {
		return fmt.Sprintf("%s and %s in session %s", p.Old.Variant, p.New.Variant, p.Old.Session)
	}
	return p.Old.Title() + " and " + p.New.Title()
}

// side is what a name resolves to: arms, or parts of them, by variant, the newest last.
type side struct {
	asked     string
	byVariant map[string][]*Arm
}

var hexPrefix = regexp.MustCompile(`^[0-9a-f]{4,40}$`)

// PairsOf are the pairs that two names resolve to, each a run (its ID, a prefix of it,
// "latest"), a feature or "baseline", NAME@RUN, or a commit that launches
// ran from.
func PairsOf(st *store.Store, a, b string) ([]Pair, error) {
	old, err := sideOf(st, a)
	if err != nil {
		return nil, err
	}
	new, err := sideOf(st, b)
	if err != nil {
		return nil, err
	}
	oldNames, newNames := slices.Sorted(maps.Keys(old.byVariant)), slices.Sorted(maps.Keys(new.byVariant))
	var pairs []Pair
	switch {
	case len(oldNames) == 1 && len(newNames) == 1:
		pairs = append(pairs, pairOf(st, old, new, oldNames[0], newNames[0]))
	default:
		for _, name := range oldNames {
			if new.byVariant[name] != nil {
				pairs = append(pairs, pairOf(st, old, new, name, name))
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s has launches of %s, %s of %s: no variant is in both. Give one of each, such as %s", a, strings.Join(oldNames, ", "), b, strings.Join(newNames, ", "), oldNames[0]+"@"+cmp.Or(runOfName(a), "RUN"))
	}
	for _, p := range pairs {
		if p.Old.Launches[0].ID == p.New.Launches[0].ID {
			return nil, fmt.Errorf("%s and %s are the same launches (%s of session %s)", a, b, p.Old.Variant, p.Old.Session)
		}
	}
	return pairs, nil
}

func runOfName(name string) string {
	_, run, _ := strings.Cut(name, "@")
	return run
}

// sideOf resolves a name. An ambiguous one is an error that lists its meanings; the
// prefixes "run:", "feature:" and "commit:" disambiguate.
func sideOf(st *store.Store, asked string) (side, error) {
	kind, name, qualified := strings.Cut(asked, ":")
	if !qualified {
		kind, name = "", asked
	}
	all := Arms(st)
	if variant, run, at := strings.Cut(name, "@"); at {
		view, err := st.Run(run)
		if err != nil {
			return side{}, err
		}
		made := Parts(all, view.Launches)
		s := sideFrom(asked, slices.DeleteFunc(slices.Clone(made), func(a *Arm) bool { return a.Variant != variant }))
		return s, s.some(fmt.Sprintf("run %s did not measure %s; it measured %s", view.ID, variant, variantsOf(made)))
	}
	found := map[string]side{}
	if slices.Contains([]string{"", "feature"}, kind) {
		if s := sideFrom(asked, slices.DeleteFunc(slices.Clone(all), func(a *Arm) bool { return a.Variant != name })); len(s.byVariant) > 0 {
			found["feature:"+name] = s
		}
	}
	if slices.Contains([]string{"", "run"}, kind) {
		for _, r := range st.Runs() {
			if r.ID != name && !(len(name) >= 4 && strings.HasPrefix(r.ID, name)) && !(name == "latest" && r.ID == latest(st)) {
				continue
			}
			view, err := st.Run(r.ID)
			if err != nil {
				return side{}, err
			}
			found["run:"+r.ID] = sideFrom(asked, Parts(all, view.Launches))
		}
	}
	if slices.Contains([]string{"", "commit"}, kind) && hexPrefix.MatchString(name) {
		for _, l := range st.Launches(store.LaunchFilter{}) {
			for _, c := range Commits(l) {
				if key := "commit:" + c; strings.HasPrefix(c, name) && found[key].byVariant == nil {
					found[key] = sideFrom(asked, parts(all, func(l *ledger.Launch) bool { return slices.Contains(Commits(l), c) }))
				}
			}
		}
	}
	names := slices.Sorted(maps.Keys(found))
	switch len(names) {
	case 1:
		s := found[names[0]]
		return s, s.some(names[0] + " measured nothing: it reused earlier results. Give the run that measured them")
	case 0:
		return side{}, fmt.Errorf("no record is named %q: use a variant (%s), a run (the newest is %s), or the commit of a source", asked, variantsOf(all), latest(st))
	}
	return side{}, fmt.Errorf("%q is ambiguous: %s", asked, strings.Join(names, " or "))
}

func latest(st *store.Store) string {
	runs := st.Runs()
	if len(runs) == 0 {
		return "none"
	}
	return runs[len(runs)-1].ID
}

// Parts are arms with those of their launches that are among some; arms without any are
// left out.
func Parts(arms []*Arm, among []*ledger.Launch) []*Arm {
	return parts(arms, func(l *ledger.Launch) bool { return slices.Contains(among, l) })
}

func parts(arms []*Arm, of func(*ledger.Launch) bool) (out []*Arm) {
	for _, a := range arms {
		part := *a
		part.Launches = slices.DeleteFunc(slices.Clone(a.Launches), func(l *ledger.Launch) bool { return !of(l) })
		if len(part.Launches) > 0 {
			out = append(out, &part)
		}
	}
	return out
}

func sideFrom(asked string, arms []*Arm) side {
	s := side{asked, map[string][]*Arm{}}
	for _, a := range arms {
		s.byVariant[a.Variant] = append(s.byVariant[a.Variant], a)
	}
	return s
}

func (s side) some(otherwise string) error {
	if len(s.byVariant) == 0 {
		return fmt.Errorf("%s", otherwise)
	}
	return nil
}

func variantsOf(arms []*Arm) string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(sideFrom("", arms).byVariant)), ", "), "nothing")
}

// Commits are the revisions that a launch ran from.
func Commits(l *ledger.Launch) (commits []string) {
	for _, t := range l.Trees {
		if t.Commit != "" {
			commits = append(commits, t.Commit)
		}
	}
	for key, value := range l.Engine {
		if strings.HasPrefix(key, "source.") && strings.HasSuffix(key, ".commit") {
			commits = append(commits, value)
		}
	}
	slices.Sort(commits)
	return slices.Compact(commits)
}

// pairOf uses the newest session in which both were measured, or else the newest of each.
func pairOf(st *store.Store, old, new side, oldVariant, newVariant string) Pair {
	a, b := old.byVariant[oldVariant], new.byVariant[newVariant]
	own, theirs := b[len(b)-1], a[len(a)-1]
	for _, x := range slices.Backward(b) {
		if i := slices.IndexFunc(a, func(y *Arm) bool { return y.Session == x.Session }); i >= 0 {
			own, theirs = x, a[i]
			break
		}
	}
	p := pairOfArms(st, theirs, own, nil)
	p.Old.Asked, p.New.Asked = old.asked, new.asked
	return p
}

// pairOfArms compares two arms: of one session by the launches that ran side by side. by
// are the tests of rules that may have decided a change.
func pairOfArms(st *store.Store, old, new *Arm, by Tests) Pair {
	p := Pair{Old: PairSide{old.Variant, old.Variant, old.Session, old.Launches}, New: PairSide{new.Variant, new.Variant, new.Session, new.Launches}}
	if old.Session == new.Session && old.Variant != new.Variant {
		p.New.Launches, p.Old.Launches = Beside(new, old)
	}
	machine, other := Environments(p.Old.Launches, p.New.Launches)
	if len(machine) > 0 {
		p.Notes = append(p.Notes, verdict.New(code.OtherMachine).From(machine...))
	}
	p.Notes = append(p.Notes, other...)
	if old.Session != new.Session {
		p.Notes = append(p.Notes, verdict.New(code.OtherSession))
	}
	for _, a := range []*Arm{old, new} {
		left := 0
		for _, l := range st.Launches(store.LaunchFilter{Session: a.Session, Purpose: ledger.ForBenchmark}) {
			if l.Variant == a.Variant && !l.Counts() && !slices.Contains(a.Launches, l) {
				left++
			}
		}
		if left > 0 {
			p.Notes = append(p.Notes, verdict.New(code.LeftOut, verdict.Int("launches", left)).On(a.Variant))
		}
	}
	p.Metrics = Comparisons(p.Old.Launches, p.New.Launches, len(machine) == 0, by)
	return p
}

// PairOf compares a feature's candidate with its parent, as it was decided; nil if one of
// them has no launches.
func PairOf(st *store.Store, d *ledger.Decision) *Pair {
	arms := ArmsOf(st, &ledger.Decision{Kind: d.Kind, Evidence: []ledger.Evidence{EvidenceOf(d)}})
	if len(arms) < 2 || arms[0].Variant != EvidenceOf(d).Parent.Name {
		return nil
	}
	p := pairOfArms(st, arms[0], arms[1], tests(d))
	return &p
}

// EvidenceOf is what a feature's own criteria read; it names no arm if they read none.
func EvidenceOf(d *ledger.Decision) ledger.Evidence {
	for _, e := range d.Evidence {
		if e.Feature == d.Feature {
			return e
		}
	}
	return ledger.Evidence{}
}

// ofMachine are the fingerprint entries that identify a machine, not what is installed on
// it.
var ofMachine = []string{"arch", "arch_level", "cores", "cpu", "driver", "gpu", "host", "mem_gib", "os"}

// Environments are the entries in which the environments of launches differ: those that
// mean another machine, and the others.
func Environments(old, new []*ledger.Launch) (machine, other []verdict.Reason) {
	names := map[string]bool{}
	for _, l := range slices.Concat(old, new) {
		for name := range l.Fingerprint {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := entriesOf(old, name), entriesOf(new, name)
		if was == is {
			continue
		}
		var args []verdict.Arg
		if was != "" {
			args = append(args, verdict.Text("was", was))
		}
		if is != "" {
			args = append(args, verdict.Text("is", is))
		}
		r := verdict.New(code.SideDiffers, args...).On(name)
		if slices.Contains(ofMachine, name) {
			machine = append(machine, r)
		} else {
			other = append(other, r)
		}
	}
	return machine, other
}

var longDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

func entriesOf(launches []*ledger.Launch, name string) string {
	var seen []string
	for _, l := range launches {
		text := longDigest.ReplaceAllStringFunc(l.Fingerprint[name], func(d string) string { return d[:12] })
		if text != "" && !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, ", ")
}
