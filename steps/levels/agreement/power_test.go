package agreement

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
)

// TestPower simulates sessions, and prints how often a candidate of which some tokens are
// not its parent's model's is shown to agree, and how often that is refuted. It is the table
// of docs/internals/evidence/README.md:
//
//	MXFLOW_TEST_LONG=1 go test -v -run TestPower ./steps/levels/agreement
//
// A session has four launches of each arm with 16 answers of 32 tokens, and near-ties at
// one position in thirty, at which the parent does not repeat itself.
func TestPower(t *testing.T) {
	sessions := 6
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		sessions = 1_000
	}
	wrong := []float64{0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5}
	byKind := map[string][]ends{}
	var simulating sync.WaitGroup
	for _, kind := range lieKinds {
		all := make([]ends, len(wrong))
		byKind[kind] = all
		for i := range wrong {
			simulating.Go(func() { all[i] = simulate(kind, wrong[i], sessions) })
		}
	}
	simulating.Wait()
	ends := byKind["tokens"]
	percent := func(n int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(sessions)) }
	table := []string{
		"| positions of each part | none wrong | 2% | 5% | 10% | 20% | 30% | 50% |",
		"|---|---|---|---|---|---|---|---|",
	}
	for look := range len(targets) + 1 {
		row := "| until decided |"
		if look < len(targets) {
			row = fmt.Sprintf("| %d |", targets[look])
		}
		for _, e := range ends {
			row += " " + percent(e.shown[look]) + ", " + percent(e.refuted[look]) + " |"
		}
		table = append(table, row)
	}
	table = append(table, "", "| until decided | none wrong | 2% | 5% | 10% | 20% | 30% | 50% |",
		"|---|---|---|---|---|---|---|---|")
	for _, kind := range lieKinds {
		row := "| " + kind + " |"
		for i, e := range byKind[kind] {
			row += " " + percent(e.shown[len(targets)]) + ", " + percent(e.refuted[len(targets)]) + " |"
			// A few more are chance.
			if n := e.refuted[len(targets)]; wrong[i] <= 0.02 && n > sessions/100+3 {
				t.Errorf("an honest port with %v of its %s wrong is accused in %s", wrong[i], kind, percent(n))
			}
			// Three in ten of close answers differ at 12% of the positions, which is within Margin.
			caught := wrong[i] >= 0.2 && kind != "close answers" || wrong[i] >= 0.5
			if n := e.shown[len(targets)]; caught && n > sessions/20+3 {
				t.Errorf("a lie in %v of the %s is accepted in %s", wrong[i], kind, percent(n))
			}
		}
		table = append(table, row)
	}
	t.Log("\nshown, refuted\n" + strings.Join(table, "\n"))
}

// lieKinds are what a lie is a share of: tokens here and there, whole answers from their third
// token on, the second tokens of events of two, the end of each answer, and whole answers of
// chats that cannot be continued, in which nothing is known behind a first difference.
// And answers of a model that takes another token at two positions in five.
var lieKinds = []string{"tokens", "answers", "close answers", "events' tails", "late parts", "answers of chats"}

// ends are how often a claim is shown and refuted, by each look alone and by asking until
// it is.
type ends struct{ shown, refuted [5]int }

func simulate(kind string, wrong float64, sessions int) (e ends) {
	r := rand.New(rand.NewPCG(1, uint64(100*wrong)))
	for range sessions {
		s, decided := simulated(r, kind, wrong), false
		for i, n := range targets {
			got := s.claim.Judge(s.asked(n))
			for _, look := range []int{i, len(targets)} {
				if look == len(targets) && decided {
					break
				}
				if got.Holds() {
					e.shown[look]++
				}
				if got.Refuted() {
					e.refuted[look]++
				}
			}
			decided = decided || got.Holds() || got.Refuted()
		}
	}
	return e
}

// simulation is all positions of two arms, in random order, with what the parent would say.
type simulation struct {
	claim Claim
	all   map[string]map[string]map[Part]int
	looks [2]map[Part][]Probe // its own and the candidate's
}

func simulated(r *rand.Rand, kind string, wrong float64) (s simulation) {
	const launches, answers, tokens, nearTies = 4, 16, 32, 1.0 / 30
	s.all = map[string]map[string]map[Part]int{}
	for arm := range s.looks {
		looks := map[Part][]Probe{}
		for l := range launches {
			id, count := fmt.Sprint(arm, l), map[Part]int{}
			if arm == 0 {
				s.claim.Own = append(s.claim.Own, id)
			} else {
				s.claim.Other = append(s.claim.Other, id)
			}
			for request := range answers {
				took, whole, differs := r.Float64(), r.Float64() < wrong, false
				for i := range tokens {
					part := parts[1+3*i/tokens]
					if i == 0 {
						part = First
					}
					look := Probe{
						Launch: id, Cell: "chat", Request: request, Part: part, Was: "a", Is: "a", Took: took,
						Prompt: 60 + request%8,
					}
					lie := arm == 1 && map[string]bool{
						"tokens": r.Float64() < wrong, "events' tails": i%2 == 1 && r.Float64() < 2*wrong,
						"late parts": float64(i) >= tokens*(1-wrong),
						"answers":    whole && i >= 2, "answers of chats": whole && i >= 2,
						"close answers": whole && i >= 2 && r.Float64() < 0.4,
					}[kind]
					if r.Float64() < nearTies || lie {
						look.Is = "b"
					}
					look.Unreached = differs
					differs = kind == "answers of chats" && (differs || look.Is == "b")
					count[part]++
					looks[part] = append(looks[part], look)
				}
			}
			s.all[id] = map[string]map[Part]int{"chat": count}
		}
		for _, part := range parts {
			of := looks[part]
			r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		}
		s.looks[arm] = looks
	}
	return s
}

// asked is what is known when so many positions of each part were asked, and half as many
// of the parent's own.
func (s simulation) asked(n int) *Probes {
	a := &Probes{All: s.all}
	for arm, most := range []int{n / 2, n} {
		for _, part := range parts {
			a.Looks = append(a.Looks, s.looks[arm][part][:min(most, len(s.looks[arm][part]))]...)
		}
	}
	return a
}
