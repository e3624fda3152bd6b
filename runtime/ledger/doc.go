// Package ledger keeps the append-only record of everything mxflow decided. It
// knows how records become bytes that cannot be changed unnoticed, and how they
// reach the disk before anyone acts on them. It refuses to know why something
// was decided, what the graph looks like, or how records are searched: package
// store builds on it for that.
//
// # Format
//
// A ledger is a UTF-8 text file. Every line has the same form:
//
//	<leaf> TAB <root> LF
//
// The first line's leaf is the header, the text "mxflow-ledger/6". Every other
// leaf is one Record as canonical JSON. The root is the hash, in standard
// base64 with padding, of the Merkle tree (RFC 6962, as golang.org/x/mod's tlog
// computes it) over the leaves of this line and of all lines above it; the
// bytes hashed are the leaf's, without TAB and LF. So each line certifies the
// whole history up to and including itself, and no byte of the file is outside
// of what is checked: a leaf by the root, a root by being compared as text, TAB
// and LF by where they must stand.
//
// Canonical JSON is what encoding/json writes for a Record without HTML
// escaping: keys in the order of the struct's fields, map keys sorted, no
// spaces, invalid UTF-8 replaced by U+FFFD, times in UTC. A line that decodes
// but would be written differently is damaged; that refuses duplicate and
// misspelt keys too. JSON has no raw TAB or LF inside, so lines split in one way
// only. A line is at most 16 MiB long.
//
// # What is true of a sequence of records
//
// Exactly one of a record's pointers is set, the one that Type names. Times are
// UTC. Kinds and verdicts are known words. A run starts once and ends once, a
// launch ID is used once, and the attempt numbers of a node increase. A waiver is
// of the newest decision about the gate that it names, and expires after it was
// made. It says who and why.
//
// # Torn tails
//
// A batch is appended by one write and one fsync, and acknowledged after it. A
// crash in between leaves a tail that nobody was told of. A tail is torn when no LF
// follows the last good line, or when it does not verify, whatever it holds, behind
// all that the checkpoint has seen. Open moves a torn tail to <path>.torn-<n>; readers
// ignore it. Complete lines of a batch that was cut go with it where the ledger is
// signed; else they stay, only unacknowledged. Anything else that does not verify is
// damage, and nothing is changed.
//
// # Checkpoint
//
// Lines that certify themselves cannot show that later lines were cut off.
// Beside the ledger lies <path>.checkpoint, three lines in the form that
// transparency logs sign:
//
//	mxflow-ledger/6
//	<number of leaves, header included, decimal>
//	<root, base64>
//
// Below follow an empty line and an Ed25519 signature, as golang.org/x/mod/sumdb/note
// writes them, where the ledger was given a Signer (docs/internals/audit-format.md).
//
// It is replaced with every batch, before that is acknowledged: written aside and
// fsynced, and renamed once the batch is on disk. So a crash leaves at most one batch
// behind a checkpoint, of which nobody was told. If that checkpoint is signed, the
// batch is set aside, as nothing tells it from one that somebody appended without the
// key; more than a crash leaves, such as a decision of a run that has ended, is an
// error. If the checkpoint is ahead of the file, records were removed; if the file's
// root at its size is another one, history was rewritten. Both are errors.
//
// # How it may evolve
//
// Fields may be added to Record within a version if they are left out when
// empty (omitempty), so old lines stay canonical; an older mxflow then
// refuses the new lines by name of the field. Renaming or removing a field,
// reordering fields, giving one another meaning, or writing the numbers of a reason's text
// otherwise needs mxflow-ledger/7.
// Versions before 5 were never released; nothing reads them.
package ledger
