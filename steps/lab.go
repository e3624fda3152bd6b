// Package steps does the work of the graph's nodes, one file a kind of step or
// level: it starts engines, sends requests, reads logs, runs commands, and
// hands what it saw to gates. It knows plans and engines; it does not schedule
// and does not decide.
package steps

import (
	"fmt"
	"sync"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/metadata"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Lab is what the steps of one apply share.
type Lab struct {
	Plan  *plans.Plan
	Graph *runtime.Graph
	Store *store.Store
	// Launcher starts engines.
	Launcher engine.Launcher
	// Owner marks what is started on behalf of this state directory.
	Owner string
	// RunDir is the folder of this run; engine logs go below it.
	RunDir string
	// MachineKey is the digest of the machine's fingerprint, part of every
	// measurement key.
	MachineKey string
	// Boot is the boot of this machine: a session cut by a reboot is redone.
	Boot string
	// KindVersions maps engine kinds that are part of mxflow to their version.
	KindVersions map[string]string

	// Redact takes sensitive values out of logs and answers; Seal puts marks in
	// their place that differ as the values do, for measurement keys.
	Redact, Seal *redact.Redactor

	mu       sync.Mutex
	programs map[string]programSum
	// gpus are those that this apply holds, metadata what it has found out.
	gpus     gpuHold
	metadata metadata.Collector
	// calibrator knows how far the measuring client is off.
	calibrator Calibrator
	// learned is what is known of tokenizers, by set of prompts.
	learned map[string]*prompt.Knowledge
	// built are the prompts of each cell, see prompts.
	built map[string]prompt.Prompts
	// free is what freed says, which follows from the plan alone.
	freeing sync.Once
	free    []any
	// begun are the sessions that this apply began.
	begun map[string]bool
	// died are launches of this apply that broke, by session and variant.
	died map[string]*ledger.Launch
	// datasets are the files of prompts that were read.
	datasets datasets
}

// Step makes the step of a node.
func (l *Lab) Step(n *runtime.Node) (runtime.Step, error) {
	switch n.Kind {
	case runtime.KindQualify:
		return &qualify{lab: l, feature: n.FeatureBlock}, nil
	case runtime.KindBenchmark:
		return &benchmark{lab: l, feature: n.FeatureBlock}, nil
	case runtime.KindFeature:
		if len(n.FeatureBlock.Confirm) > 0 {
			return &joinConfirmed{lab: l, feature: n.FeatureBlock}, nil
		}
		return l.decider(n.FeatureBlock), nil
	case runtime.KindCriteria:
		return &decideOn{l.decider(n.FeatureBlock)}, nil
	case runtime.KindGate:
		return &decideGate{lab: l, phase: n.PhaseBlock}, nil
	case runtime.KindPhase:
		return &joinPhase{lab: l, phase: n.PhaseBlock}, nil
	case runtime.KindStep:
		kind, ok := stepKinds[n.StepBlock.Kind]
		if !ok {
			return nil, fmt.Errorf("unknown step kind %q", n.StepBlock.Kind)
		}
		return kind.make(l, n.StepBlock), nil
	}
	return nil, fmt.Errorf("unknown kind of node %q", n.Kind)
}
