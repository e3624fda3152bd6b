// Package record sends a running engine the requests of workloads, watches the
// machine meanwhile, and judges the recording on its own: causes for which it does
// not count, notes, answers that are not text. It knows no arms, no rules and no
// session; two launches are compared elsewhere.
package record
