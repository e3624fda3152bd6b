// Package symbol interprets the names of GPU kernels: a short form for people, the
// category of the work, and the families by which engines and people know them. It is a
// leaf, and uses only the name.
package symbol

import (
	"slices"
	"strings"
)

// Categories of work on a GPU, in listing order.
const (
	DenseGEMM      = "dense_gemm"
	MoE            = "moe"
	Attention      = "attention"
	NormActivation = "norm_activation"
	Sampling       = "sampling"
	Memory         = "memory"
	Communication  = "communication"
	Other          = "other"
	// Hidden is work within CUDA graphs whose kernels a profile does not name.
	Hidden = "hidden"
)

// Categories are all known categories, in the order of tables.
var Categories = []string{DenseGEMM, MoE, Attention, NormActivation, Sampling, Memory, Communication, Other, Hidden}

// Rule puts kernels with matching names into a category. The first match counts.
type Rule struct {
	// Glob is unanchored and case-insensitive; * matches anything.
	Glob     string
	Category string
}

// Rules are a plan's rules, which precede ours.
type Rules []Rule

// Category is the kind of work that a kernel does.
func (r Rules) Category(name string) string {
	name = strings.ToLower(name)
	for _, rule := range r {
		if glob(strings.ToLower(rule.Glob), name) {
			return rule.Category
		}
	}
	for _, rule := range rules {
		if slices.ContainsFunc(rule.globs, func(g string) bool { return glob(g, name) }) {
			return rule.category
		}
	}
	return Other
}

// Match reports whether a kernel is of a family (marlin, flash_attn_3 …), or its full
// name matches a glob: unanchored, case-insensitive, * for anything.
func Match(pattern, name string) bool {
	pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	globs, known := families[pattern]
	if !known {
		return pattern != "" && glob(pattern, name)
	}
	return slices.ContainsFunc(globs, func(g string) bool { return glob(g, name) })
}

// glob reports whether name contains the pieces of pattern in order. A ^ at the start or
// a $ at the end of one of our patterns anchors it. Both are in lower case.
func glob(pattern, name string) bool {
	pattern, atStart := strings.CutPrefix(pattern, "^")
	pattern, atEnd := strings.CutSuffix(pattern, "$")
	pieces := strings.Split(pattern, "*")
	if atStart {
		if !strings.HasPrefix(name, pieces[0]) {
			return false
		}
		name, pieces = name[len(pieces[0]):], pieces[1:]
	}
	for i, piece := range pieces {
		if atEnd && i == len(pieces)-1 {
			return strings.HasSuffix(name, piece)
		}
		at := strings.Index(name, piece)
		if at < 0 {
			return false
		}
		name = name[at+len(piece):]
	}
	return !atEnd || name == ""
}

// IsCopy reports whether a name is a copy or fill that is not a kernel.
func IsCopy(name string) bool {
	return strings.HasPrefix(name, "Memcpy ") || strings.HasPrefix(name, "Memset ") ||
		strings.HasPrefix(name, "[CUDA mem")
}
