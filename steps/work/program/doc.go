// Package program runs a program of the plan to its end: the command of a step, or a
// user's own test level. It bounds and stops it, keeps its redacted output, and reads
// numbers from it. It does not know what the program is for, and decides only by its exit
// status.
package program
