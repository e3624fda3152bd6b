package symbol

import (
	"regexp"
	"slices"
	"strings"
)

// shortest is the length in characters of a shown name.
const shortest = 44

// wraps are kernels named after what they start.
var wraps = []string{
	"device_kernel", "Kernel", "Kernel2", "enable_sm90_or_later", "enable_sm80_to_sm89",
	"enable_sm100_or_later",
}

// functor matches the operation of PyTorch's elementwise kernels, which are the same for
// most, and what says only how many operands it has.
var functor = regexp.MustCompile(
	`\bCUDAFunctor(?:OnSelf)?_?(\w+)|\b(\w+?)(?:Functor|_functor|Ops|_kernel_cuda|_kernel_impl|_nocast|_kernel)\b`)

// number matches plain numbers and bools among the arguments of templates. Those of 18
// digits are encoded types.
var number = regexp.MustCompile(`(?:^|[<,( )])(true|false|-?\d{1,7})[ul]*\b`)

// Short is a kernel's name for people, the same wherever it is shown: without result,
// parameters and the types of templates, of which only numbers stay, since they
// distinguish variants of a kernel.
func Short(name string) string {
	s := strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(name), "?"), "(anonymous namespace)::", "")
	base, args := divide(s)
	for range 4 {
		if !slices.Contains(wraps, base[strings.LastIndexByte(base, ':')+1:]) || args == "" {
			break
		}
		base, args = divide(args)
	}
	if base == "" || !strings.ContainsAny(s, "<(") || IsCopy(s) {
		base, args = s, ""
	}
	// Only the innermost namespace, which distinguishes libraries.
	parts := strings.Split(base, "::")
	base = strings.TrimPrefix(strings.Join(parts[max(0, len(parts)-2):], "::"), "native::")
	var shown []string
	if strings.Contains(s, "at::native") && (strings.Contains(base, "elementwise") || base == "reduce_kernel") {
		for _, m := range functor.FindAllStringSubmatch(args, -1) {
			if op := m[1] + m[2]; !strings.HasSuffix(op, "nary") && !strings.HasPrefix(op, "gpu") {
				shown = append(shown, op)
			}
		}
		shown = shown[:min(len(shown), 1)]
	}
	if shown == nil {
		for _, m := range number.FindAllStringSubmatch(args, 8) {
			shown = append(shown, strings.NewReplacer("true", "t", "false", "f").Replace(m[1]))
		}
	}
	if shown != nil {
		base += "<" + strings.Join(shown, ",") + ">"
	}
	// Both ends of a long name stay: the end distinguishes variants.
	const tail = 12
	r := []rune(base)
	if len(r) <= shortest {
		return base
	}
	return string(r[:shortest-tail-1]) + "…" + string(r[len(r)-tail:])
}

// divide splits the first name in C++ into the function's, without result, templates and
// parameters, and the arguments of its own template.
func divide(s string) (base, args string) {
	var flat strings.Builder
	depth, start := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(' && depth == 0:
			return strings.TrimSpace(flat.String()), args
		case c == '<', c == '(':
			if depth == 0 {
				start = i + 1
			}
			depth++
		case c == ')', c == '>' && s[i-min(i, 1)] != '-':
			if depth = max(depth-1, 0); depth == 0 {
				args = s[min(start, i):i]
			}
		case depth > 0:
		case c == ' ' && i+1 < len(s) && s[i+1] != '(':
			flat.Reset()
			args = ""
		default:
			flat.WriteByte(c)
		}
	}
	return strings.TrimSpace(flat.String()), args
}
