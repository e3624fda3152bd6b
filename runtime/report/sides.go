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
	// Deltas are the metrics, Notes their limitations.
	Deltas []Delta          `json:"deltas"`
	Notes  []verdict.Reason `json:"notes,omitempty"`
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

// side is what a name resolves to: launches, by variant.
type side struct {
	asked     string
	byVariant map[string][]*ledger.Launch
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
		pairs = append(pairs, pairOf(old, new, oldNames[0], newNames[0]))
	default:
		for _, name := range oldNames {
			if new.byVariant[name] != nil {
				pairs = append(pairs, pairOf(old, new, name, name))
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
	if variant, run, at := strings.Cut(name, "@"); at {
		view, err := st.Run(run)
		if err != nil {
			return side{}, err
		}
		s := sideFrom(asked, view.Launches, func(l *ledger.Launch) bool { return l.Variant == variant })
		return s, s.some(fmt.Sprintf("run %s did not measure %s; it measured %s", view.ID, variant, variantsOf(view.Launches)))
	}
	all := st.Launches(store.LaunchFilter{})
	found := map[string]side{}
	if slices.Contains([]string{"", "feature"}, kind) {
		if s := sideFrom(asked, all, func(l *ledger.Launch) bool { return l.Variant == name }); len(s.byVariant) > 0 {
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
			found["run:"+r.ID] = sideFrom(asked, view.Launches, func(*ledger.Launch) bool { return true })
		}
	}
	if slices.Contains([]string{"", "commit"}, kind) && hexPrefix.MatchString(name) {
		for _, l := range all {
			for _, c := range Commits(l) {
				if key := "commit:" + c; strings.HasPrefix(c, name) && found[key].byVariant == nil {
					found[key] = sideFrom(asked, all, func(l *ledger.Launch) bool { return slices.Contains(Commits(l), c) })
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

// sideFrom are the measured launches that count, by variant.
func sideFrom(asked string, launches []*ledger.Launch, of func(*ledger.Launch) bool) side {
	s := side{asked, map[string][]*ledger.Launch{}}
	for _, l := range launches {
		if l.Purpose == ledger.ForBenchmark && of(l) {
			s.byVariant[l.Variant] = append(s.byVariant[l.Variant], l)
		}
	}
	maps.DeleteFunc(s.byVariant, func(_ string, of []*ledger.Launch) bool { return len(Counted(of)) == 0 })
	return s
}

func (s side) some(otherwise string) error {
	if len(s.byVariant) == 0 {
		return fmt.Errorf("%s", otherwise)
	}
	return nil
}

func variantsOf(launches []*ledger.Launch) string {
	names := slices.Sorted(maps.Keys(sideFrom("", launches, func(*ledger.Launch) bool { return true }).byVariant))
	return cmp.Or(strings.Join(names, ", "), "nothing")
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
func pairOf(old, new side, oldVariant, newVariant string) Pair {
	a, b := old.byVariant[oldVariant], new.byVariant[newVariant]
	oldSession, newSession := newest(a, nil), newest(b, nil)
	if beside := newest(b, sessionsIn(a)); beside != "" {
		oldSession, newSession = beside, beside
	}
	p := Pair{Old: PairSide{old.asked, oldVariant, oldSession, in(a, oldSession)}, New: PairSide{new.asked, newVariant, newSession, in(b, newSession)}}
	machine, other := Environments(Counted(p.Old.Launches), Counted(p.New.Launches))
	if len(machine) > 0 {
		p.Notes = append(p.Notes, verdict.New(code.OtherMachine).From(machine...))
	}
	p.Notes = append(p.Notes, other...)
	if oldSession != newSession {
		p.Notes = append(p.Notes, verdict.New(code.OtherSession))
	}
	for _, s := range []PairSide{p.Old, p.New} {
		if left := len(s.Launches) - len(Counted(s.Launches)); left > 0 {
			p.Notes = append(p.Notes, verdict.New(code.LeftOut, verdict.Int("launches", left)).On(s.Variant))
		}
	}
	p.Deltas = Deltas(p.Old.Launches, p.New.Launches, len(machine) == 0)
	return p
}

// PairOf compares a feature's candidate with its parent, by the launches that decided;
// nil if one of them has none.
func PairOf(st *store.Store, d *ledger.Decision) *Pair {
	e := evidenceOf(d)
	return pairIfAny(sideOfArm(st, e.Parent), sideOfArm(st, e.Candidate), e.Parent.Name, e.Candidate.Name)
}

// evidenceOf is what a feature's own criteria read.
func evidenceOf(d *ledger.Decision) (e ledger.Evidence) {
	for _, e := range d.Evidence {
		if e.Feature == d.Feature {
			return e
		}
	}
	return e
}

func sideOfArm(st *store.Store, arm ledger.Arm) side {
	s := side{arm.Name, map[string][]*ledger.Launch{}}
	for _, id := range arm.Launches {
		if l, ok := st.LaunchByID(id); ok {
			s.byVariant[arm.Name] = append(s.byVariant[arm.Name], l)
		}
	}
	return s
}

func pairIfAny(old, new side, oldVariant, newVariant string) *Pair {
	if len(Counted(old.byVariant[oldVariant])) == 0 || len(Counted(new.byVariant[newVariant])) == 0 {
		return nil
	}
	p := pairOf(old, new, oldVariant, newVariant)
	return &p
}

// newest is the session of the newest launch that counts, restricted to among unless that
// is empty.
func newest(launches []*ledger.Launch, among map[string]bool) (session string) {
	for _, l := range Counted(launches) {
		if among == nil || among[l.Session] {
			session = l.Session
		}
	}
	return session
}

func sessionsIn(launches []*ledger.Launch) map[string]bool {
	sessions := map[string]bool{}
	for _, l := range Counted(launches) {
		sessions[l.Session] = true
	}
	return sessions
}

func in(launches []*ledger.Launch, session string) []*ledger.Launch {
	return slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool { return l.Session != session })
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
