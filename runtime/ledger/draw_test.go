package ledger

import (
	"path/filepath"
	"testing"
)

// TestDraws: a ledger takes each draw that its run committed itself to, once and in
// whatever order launches end that stood side by side, and no other.
func TestDraws(t *testing.T) {
	draws, committed := NewDraws()
	_, other := NewDraws()
	first, second, third := draws.Next(), draws.Next(), draws.Next()
	moved := third
	moved.Step = 2
	for name, c := range map[string]struct {
		committed string
		drawn     []Draw
		refused   int // of drawn; -1 for none
	}{
		"in order":               {committed, []Draw{first, second, third}, -1},
		"one was not kept":       {committed, []Draw{first, third}, -1},
		"none":                   {committed, []Draw{{}, {}}, -1},
		"of another run":         {other, []Draw{first}, 0},
		"not committed":          {"", []Draw{first}, 0},
		"twice":                  {committed, []Draw{first, first}, 1},
		"side by side":           {committed, []Draw{second, first, third}, -1},
		"the later one twice":    {committed, []Draw{second, first, second}, 2},
		"the earlier one twice":  {committed, []Draw{second, first, first}, 2},
		"another's earlier step": {committed, []Draw{third, {Seed: second.Seed, Step: 1}}, 1},
		"of another step":        {committed, []Draw{first, moved}, 1},
		"the commitment":         {committed, []Draw{{Seed: committed}}, 0},
		"a negative step":        {committed, []Draw{{Seed: committed, Step: -1}}, 0},
		"more than are made":     {committed, []Draw{{Seed: "x", Step: maxDraws + 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Open(filepath.Join(t.TempDir(), "ledger"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			start := runStart("r")
			start.RunStart.Draws = c.committed
			if err := l.Append(start); err != nil {
				t.Fatal(err)
			}
			for i, d := range c.drawn {
				made := launch("r", string(rune('a'+i)))
				made.Launch.Draw = d
				if err := l.Append(made); (err != nil) != (i == c.refused) {
					t.Errorf("draw %d: %v", i, err)
				}
			}
		})
	}
	if d := (*Draws)(nil).Next(); d != (Draw{}) {
		t.Errorf("%+v", d)
	}
}
