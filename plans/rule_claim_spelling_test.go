package plans

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// spelling is a random way to write "x op limit": both sides have the same done
// to them, and the sides may be exchanged.
func spelling(rnd *rand.Rand, x, op string, limit float64) string {
	left, right := x, fmt.Sprint(limit)
	for range rnd.Intn(6) {
		n := math.Round(rnd.Float64()*900+1) / 100
		switch rnd.Intn(5) {
		case 0:
			left, right = fmt.Sprintf("(%s + %v)", left, n), fmt.Sprintf("(%v + %s)", n, right)
		case 1:
			left, right = fmt.Sprintf("(%v - %s)", n, left), fmt.Sprintf("(%v - %s)", n, right)
			op = flipped[op]
		case 2:
			left, right = fmt.Sprintf("%s * %v", left, n), fmt.Sprintf("%v * %s", n, right)
		case 3:
			left, right = fmt.Sprintf("%s / -%v", left, n), fmt.Sprintf("%s / -%v", right, n)
			op = flipped[op]
		case 4:
			left, right = fmt.Sprintf("(%s - 2 * %s)", left, x), fmt.Sprintf("(%s - %s * 2)", right, x)
		}
	}
	if rnd.Intn(2) == 0 {
		left, right, op = right, left, flipped[op]
	}
	if rnd.Intn(3) == 0 {
		return fmt.Sprintf("not (%s %s %s)", left, denied[op], right)
	}
	return fmt.Sprintf("%s %s %s", left, op, right)
}

func TestSpellingsOfOneClaim(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct {
		write func(limit float64) (x string, shown float64)
		form  verdict.Form
		rel   Relation
	}{
		{func(l float64) (string, float64) { return "chat.tg.gain", l }, verdict.Ratio, Gain},
		{func(l float64) (string, float64) { return "chat.tg / chat.tg.base", 1 + l }, verdict.Ratio, Change},
		{func(l float64) (string, float64) { return "chat.ttft.delta", l }, verdict.Difference, Delta},
		{func(l float64) (string, float64) { return "(chat.ttft - chat.ttft.base)", l }, verdict.Difference, Delta},
		{func(l float64) (string, float64) { return "chat.e2e", l }, verdict.LogLevel, Own},
		{func(l float64) (string, float64) { return "gpu.memory_gb", l }, verdict.Range, Own},
	} {
		rnd := rand.New(rand.NewSource(6))
		for range 300 {
			limit := math.Round(rnd.Float64()*1000+1) / 1000
			op := []string{"<", "<=", ">", ">="}[rnd.Intn(4)]
			x, shown := c.write(limit)
			rule := spelling(rnd, x, op, rounded(shown))
			p, errs := r.compile(rule, "criterion")
			if len(errs) > 0 {
				t.Fatalf("%s: %v", rule, errs)
			}
			got := p.Leaves[0].Claim
			if got.Form != c.form || got.Input == nil || got.Input.Relation != c.rel || got.More != strings.HasPrefix(op, ">") ||
				got.Strict != (len(op) == 1) || math.Abs(got.Threshold-limit) > 1e-9*max(1, limit) {
				t.Fatalf("%s\nis %s, want %s: … %s %v", rule, claimText(got), c.form, op, limit)
			}
		}
	}
}

// A claim that holds of some numbers is a comparison that holds of them.
func TestClaimsAgreeWithTheirComparisons(t *testing.T) {
	r := newRules(t)
	rnd := rand.New(rand.NewSource(7))
	for _, rule := range []string{
		"chat.tg / chat.tg.base >= 1.1", "0.97 * chat.tg.base <= chat.tg", "chat.tg.base / chat.tg < 0.8", "chat.tg - chat.tg.base > 2",
		"1000 / chat.tg > 30", "-3 * chat.tg + 5 >= -100", "not (2 * chat.tg.base - chat.tg >= chat.tg.base - 4)", "(chat.tg - chat.tg.base) / chat.tg.base > 0.1",
	} {
		p, errs := r.compile(rule, "criterion")
		if len(errs) > 0 {
			t.Fatal(rule, errs)
		}
		for range 200 {
			own, base := 1+99*rnd.Float64(), 1+99*rnd.Float64()
			of := func(in *Input) float64 {
				switch in.Relation {
				case Base:
					return base
				case Change:
					return own/base - 1
				case Delta:
					return own - base
				}
				return own
			}
			l := p.Leaves[0]
			left, _ := l.Left.Value(func(in *Input) any { return of(in) })
			right, _ := l.Right.Value(func(in *Input) any { return of(in) })
			a, b := left.(float64), right.(float64)
			holds := map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[l.Op] != l.Negated
			x := of(l.Claim.Input)
			if claimed := (x > l.Claim.Threshold) == l.Claim.More; claimed != holds && math.Abs(x-l.Claim.Threshold) > 1e-9 {
				t.Fatalf("%s of %v and %v is %v, and %s is %v", rule, own, base, holds, claimText(l.Claim), claimed)
			}
		}
	}
}
