package runtime

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Parts of the addresses of a feature's nodes.
const (
	featurePart   = "feature."
	qualifyPart   = ".qualify"
	benchmarkPart = ".benchmark"
	firstPart     = ".first"
)

// BaselineID is the node that qualifies the baseline.
const BaselineID = ledger.Baseline

// PhaseID is the node that unlocks what comes after a phase.
func PhaseID(phase string) string { return "phase." + phase }

// StepID is a step's node.
func StepID(phase, kind, name string) string {
	return fmt.Sprintf("phase.%s.step.%s.%s", phase, kind, name)
}

// FeatureID is the node that decides a feature's criteria.
func FeatureID(feature string) string { return featurePart + feature }

// QualifyID and BenchmarkID are a feature's measurements.
func QualifyID(feature string) string   { return FeatureID(feature) + qualifyPart }
func BenchmarkID(feature string) string { return FeatureID(feature) + benchmarkPart }

// FirstID is the node that decides a feature's criteria on the baseline's engine
// where others confirm them.
func FirstID(feature string) string { return FeatureID(feature) + firstPart }

// CandidateOf is the feature, alternative or confirmation that a node is about, by its
// address; empty for a node that is about none. Names may have dots of their own.
func CandidateOf(id string) string {
	name, ok := strings.CutPrefix(id, featurePart)
	if !ok {
		return ""
	}
	for _, part := range []string{qualifyPart, benchmarkPart, firstPart} {
		if of, ok := strings.CutSuffix(name, part); ok {
			return of
		}
	}
	return name
}
