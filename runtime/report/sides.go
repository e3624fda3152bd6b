package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
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

// PairsOf are the pairs that two names resolve to, each a feature or "baseline", a run (its
// ID, a prefix of it, "latest"), or NAME@RUN.
func PairsOf(st *store.Store, a, b string) (pairs []Pair, err error) {
	var sides [2]map[string][]*Arm
	for i, asked := range []string{a, b} {
		if sides[i], err = sideOf(st, asked); err != nil {
			return nil, err
		}
	}
	names := [2][]string{names(sides[0]), names(sides[1])}
	alone, decisions := len(names[0]) == 1 && len(names[1]) == 1, compared(st)
	all, by := ArmsOf(st, decisions...), tests(decisions...)
	for _, name := range names[0] {
		old, new := sides[0][name], sides[1][name]
		if alone {
			new = sides[1][names[1][0]]
		}
		if new == nil {
			continue
		}
		// Of the newest session in which both were measured, or else the newest of each.
		before, after := old[len(old)-1], new[len(new)-1]
		for _, own := range slices.Backward(new) {
			if i := slices.IndexFunc(old, func(a *Arm) bool { return a.Session == own.Session }); i >= 0 {
				before, after = old[i], own
				break
			}
		}
		// A session may have launched one of them by another name: as what was accepted then.
		for i, side := range []struct{ other, own **Arm }{{&before, &after}, {&after, &before}} {
			if before.Session == after.Session || strings.Contains([]string{a, b}[i], "@") {
				continue
			}
			at := slices.IndexFunc(all, func(o *Arm) bool {
				was, is := (*side.other).Launches[0], o.Launches[0]
				return o.Session == (*side.own).Session && o.Block == (*side.own).Block &&
					o.Block == (*side.other).Block && was.Knobs != nil && maps.Equal(is.Knobs, was.Knobs)
			})
			if at >= 0 && all[at] != *side.own {
				*side.other = all[at]
			}
		}
		p := pairOfArms(st, before, after, by)
		if p.Old.Launches[0].ID == p.New.Launches[0].ID {
			return nil,
				fmt.Errorf("%s and %s are the same launches (%s of session %s)", a, b, p.Old.Variant, p.Old.Session)
		}
		p.Old.Asked, p.New.Asked = a, b
		pairs = append(pairs, p)
	}
	if len(pairs) == 0 {
		return nil,
			fmt.Errorf("%s has launches of %s, %s of %s: no variant is in both. Give one of each, such as %s@RUN", a,
				strings.Join(names[0], ", "), b, strings.Join(names[1], ", "), names[0][0])
	}
	return pairs, nil
}

// sideOf resolves a name to arms, or parts of them, by variant, the newest last: a variant goes
// before a run.
func sideOf(st *store.Store, asked string) (map[string][]*Arm, error) {
	all := ArmsOf(st, compared(st)...)
	of, ran := byVariant(all, asked), byVersion(all, asked)
	switch {
	case len(of) > 0 && len(ran) > 0 && !slices.Equal(names(of), names(ran)):
		return nil,
			fmt.Errorf("%q is a variant, and what %s ran: name the variant as %[1]s@RUN, or a commit by its SHA", asked,
				strings.Join(names(ran), ", "))
	case len(of) > 0:
		return of, nil
	case len(ran) > 0:
		return ran, nil
	}
	variant, run, at := strings.Cut(asked, "@")
	if !at {
		variant, run = "", asked
	}
	view, err := st.Run(run)
	if err != nil {
		runs := st.Runs()
		if len(runs) == 0 {
			return nil, err
		}
		versions := ""
		if ran := Distinct(launchesOf(all), func(l *ledger.Launch) string {
			return strings.Join(versionsOf(l), ", ")
		}); ran != "" {
			versions = fmt.Sprintf(", a commit or image (%s)", ran)
		}
		return nil,
			fmt.Errorf("no record is named %q: use a variant (%s)%s, a run (the newest is %s), or VARIANT@RUN (%w)",
				asked, strings.Join(names(byVariant(all, "")), ", "), versions, runs[len(runs)-1].ID, err)
	}
	made := Parts(all, view.Launches)
	if of = byVariant(made, variant); len(of) == 0 {
		return nil, fmt.Errorf("run %s did not measure %s: it measured %s, and may have reused earlier results",
			view.ID, cmp.Or(variant, "anything"), cmp.Or(strings.Join(names(byVariant(made, "")), ", "), "nothing"))
	}
	return of, nil
}

func names(of map[string][]*Arm) []string { return slices.Sorted(maps.Keys(of)) }

// byVariant are the arms of a variant, or of all.
func byVariant(arms []*Arm, variant string) map[string][]*Arm {
	of := map[string][]*Arm{}
	for _, a := range arms {
		if variant == "" || a.Variant == variant {
			of[a.Variant] = append(of[a.Variant], a)
		}
	}
	return of
}

// byVersion are the arms that ran an image, or a revision of a source by its name or SHA.
func byVersion(arms []*Arm, asked string) map[string][]*Arm {
	of := map[string][]*Arm{}
	for _, a := range arms {
		first := a.Launches[0]
		ran := slices.Contains(versionsOf(first), asked) || slices.ContainsFunc(Commits(first), func(sha string) bool {
			return len(asked) >= 7 && strings.HasPrefix(sha, asked)
		})
		if ran {
			of[a.Variant] = append(of[a.Variant], a)
		}
	}
	return of
}

// versionsOf are the image that a launch ran, and the revisions by their names.
func versionsOf(l *ledger.Launch) (names []string) {
	for _, key := range slices.Sorted(maps.Keys(l.Engine)) {
		if key == "image" || strings.HasPrefix(key, "source.") && strings.HasSuffix(key, ".ref") {
			names = append(names, l.Engine[key])
		}
	}
	return names
}

// Parts are arms with those of their launches that are among some; arms without any are
// left out.
func Parts(arms []*Arm, among []*ledger.Launch) (out []*Arm) {
	for _, a := range arms {
		part := *a
		part.Launches = slices.DeleteFunc(slices.Clone(a.Launches), func(l *ledger.Launch) bool {
			return !slices.Contains(among, l)
		})
		if len(part.Launches) > 0 {
			out = append(out, &part)
		}
	}
	return out
}

// pairOfArms compares two arms: of one session by the launches that ran side by side. by
// are the tests of rules that may have decided a change.
func pairOfArms(st *store.Store, old, new *Arm, by Tests) Pair {
	p := Pair{
		Old: PairSide{old.Variant, old.Variant, old.Session, old.Launches},
		New: PairSide{new.Variant, new.Variant, new.Session, new.Launches},
	}
	if old.Session == new.Session && old.Variant != new.Variant {
		p.New.Launches, p.Old.Launches = pairedLaunches(new, old)
	}
	entries := map[string]bool{}
	for _, l := range slices.Concat(p.Old.Launches, p.New.Launches) {
		for name := range l.Fingerprint {
			entries[name] = true
		}
	}
	var machine, other []verdict.Reason // what differs and means another machine, and what does not
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var args []verdict.Arg
		was, is := Entries(p.Old.Launches, name), Entries(p.New.Launches, name)
		if was != "" {
			args = append(args, verdict.Text("was", was))
		}
		if is != "" {
			args = append(args, verdict.Text("is", is))
		}
		switch r := verdict.New(code.SideDiffers, args...).On(name); {
		case was == is:
		case slices.Contains(ofMachine, name):
			machine = append(machine, r)
		default:
			other = append(other, r)
		}
	}
	if len(machine) > 0 {
		p.Notes = append(p.Notes, verdict.Say("compare.machine",
			"different machines ({causes}): launches show how one machine varies, so the changes have neither "+
				"bounds nor p").From(machine...))
	}
	p.Notes = append(p.Notes, other...)
	if old.Session != new.Session {
		p.Notes = append(p.Notes, verdict.Say("compare.session",
			"measured in different sessions: drift between them is part of the changes, and the bounds do not "+
				"cover it"))
	}
	for _, a := range []*Arm{old, new} {
		left := 0
		for _, l := range st.Launches(store.LaunchFilter{Session: a.Session, Purpose: ledger.ForBenchmark}) {
			if l.Variant == a.Variant && !l.Counts() && !slices.Contains(a.Launches, l) {
				left++
			}
		}
		if left > 0 {
			p.Notes = append(p.Notes, verdict.Say("compare.left_out",
				"{launches|launch|launches} of {subject} left out: failed, invalid or incoherent",
				verdict.Int("launches", left)).On(a.Variant))
		}
	}
	p.Metrics = Comparisons(p.Old.Launches, p.New.Launches, len(machine) == 0, by)
	return p
}

// EnginesOf are the engines of the launches that a decision rests on, "kind.name".
func EnginesOf(st *store.Store, d *ledger.Decision) (engines []string) {
	for _, id := range EvidenceLaunches(d) {
		if l, ok := st.LaunchByID(id); ok && l.Block != "" && !slices.Contains(engines, l.Block) {
			engines = append(engines, l.Block)
		}
	}
	return engines
}

// EvidenceLaunches are the launches that the rules of a decision read, each once.
func EvidenceLaunches(d *ledger.Decision) (ids []string) {
	for _, ev := range d.Evidence {
		ids = slices.Concat(ids, ev.Parent.IDs(), ev.Candidate.IDs(), ev.Root.IDs())
	}
	if len(ids) == 0 {
		ids = d.Launches
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		defer func() { seen[id] = true }()
		return seen[id]
	})
}

// EvidenceOf is what a feature's own criteria read; it names no arm if they read none.
func EvidenceOf(d *ledger.Decision) gates.Feature {
	for _, e := range d.Evidence {
		if e.Name == d.Feature {
			return e
		}
	}
	return gates.Feature{}
}

// ofMachine are the fingerprint entries that identify a machine, not what is installed on
// it.
var ofMachine = []string{"arch", "arch_level", "cores", "cpu", "driver", "gpu", "host", "mem_gib", "os"}

var longDigest = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)

// Entries are the values of an entry of the environment over launches, digests cut; empty
// if none has it.
func Entries(launches []*ledger.Launch, name string) string {
	return Distinct(launches, func(l *ledger.Launch) string {
		return longDigest.ReplaceAllStringFunc(l.Fingerprint[name], func(d string) string { return d[:12] })
	})
}

// Distinct are the texts that launches have of something, each once, in their order.
func Distinct(launches []*ledger.Launch, of func(*ledger.Launch) string) string {
	var seen []string
	for _, l := range launches {
		if text := of(l); text != "" && !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, ", ")
}

// Pair compares a port with its parent; nil if one of them has no launches.
func (p *Port) Pair() *Pair {
	if p == nil || p.Parent == nil {
		return nil
	}
	pair := pairOfArms(p.of.Store, p.Parent, p.Arm, p.of.tests)
	return &pair
}

// Identity is which engine a launch ran, by what its record has: the commits of its source trees, its
// image, its version; empty if it has none of them.
func Identity(l *ledger.Launch) string {
	var parts []string
	for name, t := range sorted.All(l.Trees) {
		if t.Commit != "" {
			changed := map[bool]string{true: " with changes"}[t.Diff != ""]
			parts = append(parts, fmt.Sprintf("%s at %.12s%s", name, t.Commit, changed))
		}
	}
	for key, commit := range sorted.All(l.Engine) {
		if name, is := strings.CutPrefix(key, "source."); is && strings.HasSuffix(name, ".commit") {
			parts = append(parts, fmt.Sprintf("%s at %.12s", strings.TrimSuffix(name, ".commit"), commit))
		}
	}
	if image := l.Engine["image"]; image != "" {
		parts = append(parts, "image "+image)
	}
	if v, seen := l.Observed["version"]; seen {
		parts = append(parts, "version "+strings.Trim(v.String(), `"`))
	} else if l.Engine["program"] != "" {
		parts = append(parts, "version "+l.Engine["program"])
	}
	return longDigest.ReplaceAllStringFunc(strings.Join(parts, ", "), func(d string) string { return d[:12] })
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
