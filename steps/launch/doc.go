// Package launch starts a variant and ends it: it provides its GPUs, worktree, builds and
// caches, waits until it answers, reads its observations, and keeps its log, metadata and
// record. It does not know what is sent to the engine in between, nor what becomes of the
// record.
package launch
