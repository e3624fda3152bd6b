// Package code lists what a fact can say, by name: the ledger keeps these names and
// digests may rest on them, so a code keeps its meaning for good. It knows no words
// and no values (they are arguments of verdict.Reason): gates/tell has a phrase for each
// code, which says what it means and names its subject and arguments. A comment here says
// what no phrase shows: from which causes a reason follows, units, when an argument is
// absent, and what the phrases that are functions take.
package code

// Code names one kind of fact.
type Code string
