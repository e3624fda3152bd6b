// Package record sends a running engine what workloads ask for, watches the machine
// meanwhile, and judges the recording by itself: causes for which it does not count,
// notes, answers that are no text. It knows no arms, no rules and no session; what
// two launches say against each other is decided elsewhere.
package record
