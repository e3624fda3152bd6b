// Package launch starts a variant and ends it: it provides its GPUs, worktree, builds and
// caches, waits until it answers, reads its observations, and keeps its log, metadata and
// record. It does not know which requests are sent in between, nor how the record is
// used.
package launch
