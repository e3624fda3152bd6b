// Package program runs a program of the plan to its end: the command of a step, or a test
// level of one's own. It knows how one is bounded, stopped and kept without sensitive
// values, and how numbers are read out of what it prints. It does not know what the
// program is for, nor decides anything but what its exit status says.
package program
