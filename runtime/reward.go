package runtime

import "github.com/mxflow/mxflow/gates/verdict"

// Reward is what a run ends with for whoever pays for its ports, a training loop or a person: what
// each is worth, by which rules, and what was spent on all that was tried.
type Reward struct {
	// Rules is the digest of what judges (plans/seal), which who pays compares with the one
	// that they know; Sealed is set if a seal was checked, whose digest it is.
	Rules  string `json:"rules"`
	Sealed bool   `json:"sealed"`
	// Ports are the features of the plan that are decided, in its order.
	Ports []Payment `json:"ports"`
	// Spent is what this run used, and Before what earlier runs on record did.
	Spent  Cost `json:"spent"`
	Before Cost `json:"before"`
}

// Payment is what one port is worth.
type Payment struct {
	Feature string          `json:"feature"`
	Verdict verdict.Verdict `json:"verdict"`
	// Pays is the gain over the parent that the launches prove, as a share: the lower bound by
	// which the rule passed, and of several claims the least. It is 0 for every verdict but
	// pass, for a pass that claims no gain or was decided in a run by other rules, and for what
	// was paid before: the first run that ends after a decision pays for it, and a variant is
	// paid once, whatever it is called. Paid is what all runs by these rules paid for the port,
	// with this one.
	Pays float64 `json:"pays"`
	Paid float64 `json:"paid"`
	// Why is the verdict on one line, Run the run that decided it.
	Why string `json:"why,omitempty"`
	Run string `json:"run"`
	// Attempt counts the decisions about it. Try counts the tries at beating its parent, each
	// with less of one error budget: 1 for the first; absent if no rule read its launches.
	Attempt int     `json:"attempt"`
	Try     int     `json:"try,omitempty"`
	Claims  []Proof `json:"claims"`
	// Crashes are starts on record that crashed, of the port and of its parent; none are known
	// of a parent beside which nothing was measured.
	Crashes       Starts `json:"crashes"`
	ParentCrashes Starts `json:"parent_crashes"`
}

// Starts are launches of an arm, and how many of them crashed.
type Starts struct {
	Crashed int `json:"crashed"`
	Of      int `json:"of"`
}

// Proof is one number that a criterion requires, with what the launches prove of it.
type Proof struct {
	Rule    string          `json:"rule"`
	Text    string          `json:"text"`
	Verdict verdict.Verdict `json:"verdict"`
	// Bound is the number that the test decided by, in the number and unit of the claim: the
	// lower bound where more is wanted, the upper one where less is; absent if nothing was
	// tested. It is never the estimate.
	Bound     *float64 `json:"bound,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	Unit      string   `json:"unit,omitempty"`
	// Level is that of p at which it passed, after all corrections.
	Level float64 `json:"level,omitempty"`
}

// Cost is what runs used: their launches with those that crashed, the time and the measured output
// tokens of these, and the verdicts of the ports that they decided.
type Cost struct {
	Runs     int                     `json:"runs"`
	Launches int                     `json:"launches"`
	Crashed  int                     `json:"crashed"`
	Seconds  float64                 `json:"seconds"`
	Tokens   int                     `json:"tokens"`
	Decided  map[verdict.Verdict]int `json:"decided"`
}
