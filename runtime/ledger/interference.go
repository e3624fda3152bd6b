package ledger

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Reason is the comparison as a fact.
func (i Interference) Reason() verdict.Reason {
	args := []verdict.Arg{verdict.List("parts", i.Parts), verdict.Text("metric", i.Metric), verdict.Num("ratio", i.Ratio, "ratio")}
	if i.Low != nil && i.High != nil {
		args = append(args, verdict.Num("low", *i.Low, "ratio"), verdict.Num("high", *i.High, "ratio"))
	}
	return verdict.New(code.Interference, args...)
}
