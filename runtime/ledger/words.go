package ledger

// Kinds of nodes that decisions are about.
const (
	KindQualify   = "qualify"
	KindBenchmark = "benchmark"
	KindCriteria  = "criteria"
	KindFeature   = "feature"
	KindGate      = "gate"
	KindStep      = "step"
	KindPhase     = "phase"
)

var kinds = []string{KindQualify, KindBenchmark, KindCriteria, KindFeature, KindGate, KindStep, KindPhase}

// What launches are for.
const (
	ForQualification = "qualification"
	ForBenchmark     = "benchmark"
)

var purposes = []string{ForQualification, ForBenchmark}

// Baseline is the node that qualifies what everything is compared with, and the
// name of that variant.
const Baseline = "baseline"
