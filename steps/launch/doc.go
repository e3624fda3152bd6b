// Package launch starts a variant and ends it: it gets its GPUs, its worktree, builds
// and caches, waits until it answers, reads its observations, and keeps its log, its
// metadata and its record. It does not know what is sent to the engine in between, nor
// what is done with the record.
package launch
