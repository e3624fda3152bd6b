package eval

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxExponent is the largest power: numbers are exact, so raising them makes more and
// more digits.
const maxExponent = 1024

// maxCompared is how many elements may be compared with each other.
const maxCompared = 2000

// budget is how much the expressions of a plan may evaluate to, and have so far.
type budget struct {
	Work int
	// Looping is set while an expression with a loop in it is evaluated.
	Looping bool
}

// limited is a function whose work counts. Its result is bounded afterwards; functions
// that can make much of little are bounded before.
func (b *budget) limited(name string, f function.Function) function.Function {
	params, variadic := slices.Clone(f.Params()), f.VarParam()
	spec := &function.Spec{
		Description: f.Description(), Params: params, VarParam: variadic,
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := b.fits(name, args); err != nil {
				return cty.NilType, err
			}
			ty, err := f.ReturnTypeForValues(args)
			return ty, refused(err)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return v, refused(err)
			}
			size, _ := SizeOf(v)
			return v, b.spend(size)
		},
	}
	return function.New(spec)
}

// refused is an error of a function without what a panic leaves: several functions of
// cty panic at what they do not expect, such as null keys, or the logarithm of a negative
// number.
func refused(err error) error {
	if panicked := (function.PanicError{}); errors.As(err, &panicked) {
		return errors.New("it has no result for these arguments; check them for null, and for numbers that it cannot take")
	}
	return err
}

// fits pays for the arguments and refuses a call that would make too much of them.
func (b *budget) fits(name string, args []cty.Value) error {
	total := 0
	for _, a := range args {
		size, _ := SizeOf(a)
		total += size
	}
	if err := b.spend(total); err != nil {
		return err
	}
	if name == "pow" && (number(args, 1) > maxExponent || number(args, 0) > MaxValue) {
		return errors.New("a number must fit a 64-bit float")
	}
	if name == "indent" && number(args, 0) < 0 {
		return errors.New("the number of spaces must not be negative")
	}
	if expected := expectedSize(name, args, total); expected > b.mostSize() {
		return fmt.Errorf("the result would exceed %d bytes", b.mostSize())
	}
	if name == "distinct" || name == "contains" || name == "setproduct" {
		for _, a := range args {
			if a, _ := a.Unmark(); a.IsKnown() && !a.IsNull() && a.CanIterateElements() && a.LengthInt() > maxCompared {
				return fmt.Errorf("a list may have at most %d elements here", maxCompared)
			}
		}
	}
	return nil
}

// mostSize is what one call may make: less within an expression that repeats.
func (b *budget) mostSize() int {
	if b.Looping {
		return MaxLooped
	}
	return MaxValue
}

func (b *budget) spend(size int) error {
	if b.Work += size; size > b.mostSize() || b.Work > maxWork {
		return fmt.Errorf("this exceeds what a plan may evaluate to (1 MiB per value, 32 KiB within a for expression, 64 MiB in total)")
	}
	return nil
}

// expectedSize is an upper bound, roughly, of the result of functions that make much of
// little; for all others it is the size of the arguments.
func expectedSize(name string, args []cty.Value, total int) int {
	texts := func(i int) string {
		if i >= len(args) {
			return ""
		}
		a, _ := args[i].Unmark()
		if !a.IsKnown() || a.IsNull() || a.Type() != cty.String {
			return ""
		}
		return a.AsString()
	}
	switch name {
	case "join":
		n := 0
		for _, a := range args[min(1, len(args)):] {
			if a, _ := a.Unmark(); a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
				n += a.LengthInt()
			}
		}
		return total + n*len(texts(0))
	case "replace":
		return total + (strings.Count(texts(0), texts(1))+1)*len(texts(2))
	case "indent":
		return total + (strings.Count(texts(1), "\n")+1)*number(args, 0)
	case "format", "formatlist":
		return total + widths(texts(0))*max(1, total/8)
	case "setproduct":
		product := 1
		for _, a := range args {
			if a, _ := a.Unmark(); a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
				product *= a.LengthInt() + 1
			}
			if product > MaxValue {
				return product
			}
		}
		return product * (16 + 9*len(args))
	case "range":
		return 17 * rangeLength(args)
	}
	return total
}

// number is an argument as a whole number, bounded; 0 if it is none.
func number(args []cty.Value, i int) int {
	if i >= len(args) {
		return 0
	}
	a, _ := args[i].Unmark()
	if !a.IsKnown() || a.IsNull() || a.Type() != cty.Number {
		return 0
	}
	f, _ := a.AsBigFloat().Float64()
	return int(min(max(f, -1e9), 1e9))
}

var widthForm = regexp.MustCompile(`[0-9]+`)

// widths is the sum of all numbers in a format: no verb writes more blanks.
func widths(format string) (sum int) {
	for _, w := range widthForm.FindAllString(format, -1) {
		n := MaxValue
		if len(w) < 7 {
			fmt.Sscan(w, &n)
		}
		sum += n
	}
	return sum
}

// rangeLength is how many numbers range(…) makes.
func rangeLength(args []cty.Value) int {
	var n []*big.Float
	for i := range args {
		a, _ := args[i].Unmark()
		if !a.IsKnown() || a.IsNull() || a.Type() != cty.Number {
			return 0
		}
		n = append(n, a.AsBigFloat())
	}
	start, end, step := big.NewFloat(0), big.NewFloat(0), big.NewFloat(1)
	switch len(n) {
	case 1:
		end = n[0]
	case 2:
		start, end = n[0], n[1]
	case 3:
		start, end, step = n[0], n[1], n[2]
	}
	if step.Sign() == 0 || start.IsInf() || end.IsInf() {
		return 0 // refused by range itself
	}
	steps, _ := new(big.Float).Quo(new(big.Float).Sub(end, start), step).Float64()
	return int(min(max(steps, -steps), MaxValue)) + 1
}
