package symbol

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// shortest is the length in characters of a shown name.
const shortest = 44

// Short is a kernel's name for people, the same wherever it is shown: without result,
// parameters and the types of templates, of which only numbers stay, since they
// distinguish variants of a kernel.
func Short(name string) string {
	s := strings.TrimSpace(name)
	if m := unmangled(s); m != "" {
		return cut(m)
	}
	if !strings.ContainsAny(s, "<(") {
		return cut(s)
	}
	if bracketed(s) {
		return cut(s) // Memcpy HtoD (Pinned -> Device)
	}
	s = strings.ReplaceAll(s, "(anonymous namespace)::", "")
	// A kernel that only starts its template's argument is named after that.
	for range 4 {
		base, args := divide(s)
		if !wraps[last(base)] || args == "" {
			break
		}
		s = arguments(args)[0]
	}
	base, args := divide(s)
	base = qualified(base)
	if f := functor(s); f != "" {
		return cut(base + "<" + f + ">")
	}
	n := numbers(arguments(args))
	if n == "" {
		// Shapes of tiles are deeply nested, and often the only difference between two.
		words := strings.FieldsFunc(args, func(r rune) bool { return strings.ContainsRune(" ,<>()", r) })
		n = numbers(slices.DeleteFunc(words, func(w string) bool { return w == "1" }))
	}
	if n != "" {
		return cut(base + "<" + n + ">")
	}
	return cut(base)
}

// wraps are kernels named after what they start.
var wraps = map[string]bool{"device_kernel": true, "Kernel": true, "Kernel2": true, "enable_sm90_or_later": true, "enable_sm80_to_sm89": true, "enable_sm100_or_later": true}

// bracketed is a name for people: words, and then some in brackets.
func bracketed(s string) bool {
	head, _, ok := strings.Cut(s, " (")
	return ok && !strings.ContainsAny(head, "<:") && !strings.HasPrefix(head, "void")
}

// divide splits a C++ name into the kernel's name, without result and parameters, and its
// template arguments.
func divide(s string) (base, args string) {
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			if depth == 0 {
				// operator() and a result type have their own templates: what follows
				// them decides.
				end := closing(s, i)
				rest := s[end:]
				if rest == "" || rest[0] == '(' || rest[0] == ' ' && !strings.Contains(rest, "::") {
					return s[start:i], s[i+1 : max(i+1, end-1)]
				}
				if rest[0] == ' ' {
					start = end + 1
				}
				i = end - 1
				continue
			}
			depth++
		case ' ':
			start = i + 1
		case '(':
			return s[start:i], ""
		}
	}
	return s[start:], ""
}

// closing is the index after the bracket that closes the one at i.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			if s[i] == '>' && i > 0 && s[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// arguments splits the arguments of a template.
func arguments(s string) (out []string) {
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(', '{':
			depth++
		case '>', ')', '}':
			if s[i] != '>' || i == 0 || s[i-1] != '-' {
				depth--
			}
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

// numbers are the arguments that are plain numbers and bools, of which a name shows the
// first few: 18-digit ones are encoded types.
func numbers(args []string) string {
	var out []string
	for _, a := range args {
		if i := strings.IndexByte(a, ')'); i > 0 && a[0] == '(' {
			a = a[i+1:] // (ns::Enum)2
		}
		a = strings.TrimRight(a, "ul")
		switch {
		case a == "true" || a == "false":
			out = append(out, a[:1])
		case a != "" && len(a) <= 7 && strings.Trim(a, "-0123456789") == "":
			out = append(out, a)
		}
	}
	const most = 8
	if len(out) > most {
		out = out[:most]
	}
	return strings.Join(out, ",")
}

// qualified is a name with only its innermost namespace, which distinguishes libraries.
func qualified(base string) string {
	parts := strings.Split(flat(base), "::")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	if len(parts) == 2 && (parts[0] == "native" || parts[0] == "") {
		parts = parts[1:]
	}
	return strings.Join(parts, "::")
}

// flat is a name without the templates in it.
func flat(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '<' {
			i = closing(s, i) - 1
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func last(base string) string {
	return base[strings.LastIndexByte(base, ':')+1:]
}

// functor is the operation of a PyTorch elementwise kernel: the kernel itself is the same
// for most.
func functor(s string) string {
	if !strings.Contains(s, "at::native") || !strings.Contains(s, "elementwise") && !strings.Contains(s, "reduce_kernel") {
		return ""
	}
	_, args := divide(s)
	for word := range strings.FieldsFuncSeq(args, func(r rune) bool { return strings.ContainsRune(" ,<>():&*{}#[]", r) }) {
		if wrappers[word] {
			continue
		}
		if op, ok := strings.CutPrefix(word, "CUDAFunctor"); ok {
			return strings.TrimLeft(strings.TrimPrefix(op, "OnSelf"), "_")
		}
		for _, end := range []string{"Functor", "_functor", "Ops", "_kernel_cuda", "_kernel_impl", "_kernel", "_scalar"} {
			if op, ok := strings.CutSuffix(word, end); ok && op != "" {
				return op
			}
		}
	}
	return ""
}

// wrappers are the number of operands, not the operation.
var wrappers = map[string]bool{"BinaryFunctor": true, "AUnaryFunctor": true, "BUnaryFunctor": true, "UnaryFunctor": true, "gpu_kernel_impl": true, "gpu_kernel_impl_nocast": true}

// unmangled is the name of a symbol that no profiler demangled, without its types.
func unmangled(s string) string {
	rest, ok := strings.CutPrefix(s, "_ZN")
	nested := ok
	if !ok {
		if rest, ok = strings.CutPrefix(s, "_Z"); !ok {
			return ""
		}
	}
	var parts []string
	for rest = strings.TrimLeft(rest, "KVSt_"); rest != "" && rest[0] >= '0' && rest[0] <= '9'; {
		n, digits := 0, 0
		for digits < len(rest) && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9' {
			n = n*10 + int(rest[digits]-'0')
			digits++
		}
		if n == 0 || digits+n > len(rest) {
			break
		}
		part := rest[digits : digits+n]
		rest = rest[digits+n:]
		if !strings.HasPrefix(part, "_GLOBAL__N_") {
			parts = append(parts, part)
		}
		if !nested {
			break
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return qualified(strings.Join(parts, "::"))
}

// cut shortens a name to fit a line, keeping both ends: the end distinguishes variants.
func cut(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "?")
	}
	if utf8.RuneCountInString(s) <= shortest {
		return s
	}
	const tail = 12
	r := []rune(s[:min(len(s), 4*shortest)])
	end := []rune(s[max(0, len(s)-4*tail):])
	return string(r[:shortest-tail-1]) + "…" + string(end[len(end)-tail:])
}
