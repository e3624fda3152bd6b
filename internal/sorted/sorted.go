// Package sorted walks over maps in the order of their keys, for whatever follows from the
// order: a key, a list, the first that fits, the last bit of a sum.
package sorted

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// All is maps.All in the order of the keys.
func All[M ~map[K]V, K cmp.Ordered, V any](m M) iter.Seq2[K, V] { return By(m, cmp.Compare[K]) }

// Union walks over the keys of two maps, with the value of each; zero where a map lacks one.
func Union[M ~map[K]V, K cmp.Ordered, V any](a, b M) iter.Seq2[K, [2]V] {
	both := make(M, len(a)+len(b))
	maps.Copy(both, a)
	maps.Copy(both, b)
	return func(yield func(K, [2]V) bool) {
		for key := range All(both) {
			if !yield(key, [2]V{a[key], b[key]}) {
				return
			}
		}
	}
}

// By is All for keys whose order is given.
func By[M ~map[K]V, K comparable, V any](m M, order func(a, b K) int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(m), order) {
			if value, there := m[key]; there && !yield(key, value) {
				return
			}
		}
	}
}
