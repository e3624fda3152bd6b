package plans

// Decision is how a plan's gates decide: the error rates that are kept to, and
// how many launches an arm may take. See docs/statistics.md.
type Decision struct {
	// FalsePass and FalseFail bound the chance of a wrong verdict at the
	// threshold: 0.01 and 0.05 unless the plan says otherwise.
	FalsePass, FalseFail float64
	// Min and Max are launches an arm: the first look is at Min (later where no
	// launch noise is recorded), the last at Max.
	Min, Max int
	// Interactions adds the baseline as an arm of features that build on a stack
	// of two or more, so that the stack's gain can be compared with its parts'.
	Interactions bool
}
