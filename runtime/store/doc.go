// Package store keeps a state directory, .mxflow beside the plan: the ledger,
// artifacts by digest and run folders. It knows where things lie, how to find them
// again, and what of one node was decided before; it refuses to know what a verdict
// means, and never decides anything.
//
// # Layout
//
//	.mxflow/
//	  .gitignore              "*": nothing in here is source
//	  ledger                  the truth; see package ledger
//	  ledger.checkpoint       what the ledger once held, to notice removed records
//	  lock                    held by the one apply that may write
//	  artifacts/sha256/ab/cd… files by digest: plan sources, logs, raw samples
//	  runs/<run>/             what a run writes while it goes
//	  worktrees/, caches/     builds of sources, compiler caches (package launch)
//
// # One writer, any number of readers
//
// Open is for the process that holds Lock. OpenReadOnly needs no lock and no
// permission to write: it reads the ledger as it is at that moment, whatever a
// writer is doing.
//
// Append puts records on disk, in the ledger, before anything else learns of
// them. The ledger is read whole when it is opened, and every answer comes from
// its records in memory: 10,000 decisions take 0.1 s.
package store
