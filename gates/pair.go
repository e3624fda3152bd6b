package gates

import (
	"fmt"
	"slices"
	"sort"
)

// pairs are the launches that a test may look at: of one arm, or those of two
// arms that stood beside each other, by rounds.
type pairs struct {
	own, base       []float64
	ownIDs, baseIDs []string
	rounds          []int
	// left are launches that have none beside them.
	left []string
}

// paired sorts the launches of one arm by rounds, or puts those of two arms
// beside each other. It returns an error where an arm has a round twice: which of
// the two stood beside the other's is not known.
func paired(own, base taken, single bool) (pairs, error) {
	var p pairs
	count := roundless(own) && (single || roundless(base))
	of, err := byRound(own, count)
	if err != nil {
		return p, err
	}
	if single {
		for _, l := range of {
			p.add(own, l)
		}
		return p, nil
	}
	others, err := byRound(base, count)
	if err != nil {
		return p, err
	}
	for _, l := range of {
		i := slices.IndexFunc(others, func(o placed) bool { return o.round == l.round })
		if i < 0 {
			p.left = append(p.left, own.arm.Launches[l.index].ID)
			continue
		}
		p.add(own, l)
		p.base = append(p.base, base.values[others[i].index])
		p.baseIDs = append(p.baseIDs, base.arm.Launches[others[i].index].ID)
		others = slices.Delete(others, i, i+1)
	}
	for _, o := range others {
		p.left = append(p.left, base.arm.Launches[o.index].ID)
	}
	return p, nil
}

func (p *pairs) add(t taken, l placed) {
	p.own = append(p.own, t.values[l.index])
	p.ownIDs = append(p.ownIDs, t.arm.Launches[l.index].ID)
	p.rounds = append(p.rounds, l.round)
}

// placed is a launch of an arm with its round.
type placed struct{ round, index int }

// byRound lists the launches of an arm by rounds. Arms that know of no rounds
// (imported numbers) count their launches in order.
func byRound(t taken, count bool) ([]placed, error) {
	var out []placed
	for i, l := range t.arm.Launches {
		round := l.Round
		if count {
			round = i + 1
		}
		out = append(out, placed{round, i})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].round < out[j].round })
	for i := 1; i < len(out); i++ {
		if out[i].round == out[i-1].round {
			return nil, fmt.Errorf("%s has two launches of round %d, %s and %s, so that it is not known which stood beside the other arm's",
				t.arm.Name, out[i].round, t.arm.Launches[out[i-1].index].ID, t.arm.Launches[out[i].index].ID)
		}
	}
	return out, nil
}

func roundless(t taken) bool {
	for _, l := range t.arm.Launches {
		if l.Round != 0 {
			return false
		}
	}
	return true
}
