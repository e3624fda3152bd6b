// Package program runs a program of the plan to its end: the command of a step, or a
// user's own test level. It knows how to bound and stop it, how to keep its output
// without sensitive values, and how to read numbers from it. It does not know what the
// program is for, and decides only by its exit status.
package program
