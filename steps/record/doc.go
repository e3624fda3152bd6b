// Package record sends a running engine the requests of workloads, watches the machine
// meanwhile, and judges the recording by itself: reasons for it not to count, notes,
// answers that are not text. It knows no arms, rules or sessions; launches are compared
// elsewhere.
package record
