// Package launch starts a variant and ends it: it gets its GPUs, its worktree, builds
// and caches, waits until it answers, asks it what it says of itself, and keeps its
// log, its metadata and its record. Of what is sent to it in between it knows nothing,
// nor what becomes of what it recorded.
package launch
