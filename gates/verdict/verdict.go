// Package verdict defines the six verdicts, how a set of them joins, and which of them
// unlock; the facts behind them (Reason, with kinds from package code); and the recorded
// form of a decided rule, of the tests of its comparisons, and of a comparison of
// engines. It knows no plan and no graph: every package that decides, records or reports
// imports it.
package verdict

type Verdict string

const (
	// Pass: the evidence supports the rule.
	Pass Verdict = "pass"
	// Fail: the evidence contradicts it.
	Fail Verdict = "fail"
	// Inconclusive: too little or too noisy evidence to say.
	Inconclusive Verdict = "inconclusive"
	// Invalid: the measurement does not count (wrong kernels, incoherent
	// output, a level before it failed).
	Invalid Verdict = "invalid"
	// Error: the harness or the engine broke.
	Error Verdict = "error"
	// Waived: a person overrode the verdict, which is kept with it.
	Waived Verdict = "waived"
)

// severity orders verdicts from harmless to worst. Anything else counts as the worst of
// all: an unknown word must never count as a pass.
var severity = map[Verdict]int{
	Pass: 0, Waived: 1, Inconclusive: 2, Fail: 3, Invalid: 4, Error: 5,
}

// Known reports whether v is one of the six verdicts.
func (v Verdict) Known() bool { _, ok := severity[v]; return ok }

// Unlocks reports whether later nodes may start.
func (v Verdict) Unlocks() bool { return v == Pass || v == Waived }

// Decided reports whether the evidence has decided, either way: what after_decided waits
// for. Error and invalid say nothing about the port.
func (v Verdict) Decided() bool {
	return v == Pass || v == Fail || v == Inconclusive || v == Waived
}

// Reusable reports whether a recorded verdict is kept by a later apply. Error and
// invalid are tried again as a new attempt.
func (v Verdict) Reusable() bool { return v.Decided() }

// Join is the verdict of a set: its worst member, in the order error, invalid, fail,
// inconclusive, pass. The empty set proves nothing and is inconclusive; an unknown word
// is an error.
func Join(vs ...Verdict) Verdict {
	if len(vs) == 0 {
		return Inconclusive
	}
	worst := Pass
	for _, v := range vs {
		if !v.Known() {
			return Error
		}
		if severity[v] > severity[worst] {
			worst = v
		}
	}
	return worst
}

const (
	ExitPass         = 0
	ExitUsage        = 1
	ExitFail         = 2
	ExitInconclusive = 3
	ExitBroken       = 4
	ExitInterrupted  = 130
)

// ExitCode is the exit status that apply ends with for v.
func (v Verdict) ExitCode() int {
	switch v {
	case Pass, Waived:
		return ExitPass
	case Fail, Invalid:
		return ExitFail
	case Inconclusive:
		return ExitInconclusive
	default:
		return ExitBroken
	}
}

// Words lists the six verdicts as rules write them, best first.
func Words() []string {
	return []string{string(Pass), string(Waived), string(Inconclusive), string(Fail), string(Invalid), string(Error)}
}
