// Package code lists what a fact can say, by name: the ledger keeps these names and
// digests may rest on them, so a code keeps its meaning for good. It knows no words
// (gates/tell has a phrase for each code) and no values (they are arguments of
// verdict.Reason); the comment of a code says which subject and arguments go with it.
package code

// Code names one kind of fact.
type Code string
