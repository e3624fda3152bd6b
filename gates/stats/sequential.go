package stats

// Design is how a sequential test is run: where it looks and how sure it must be.
type Design struct {
	// FalsePass and FalseFail are the error rates that are kept to, Pass and Fail
	// the levels of p at each look that keep to them.
	FalsePass, FalseFail float64
	Pass, Fail           float64
	// Looks are launches an arm, ascending; the last is the end.
	Looks []int
}

// Question is one comparison, turned so that more is what is wanted: the claim is
// that the mean of Candidate minus that of Base is at least Theta. All values
// stand on the scale of the test (logs, or as they are).
type Question struct {
	Candidate []float64
	// Base is nil for a test of one arm against a number.
	Base []float64
	// Single says that it is such a test.
	Single bool
	Theta  float64
	// Pass and Fail are the levels at each look; where the error budget is shared
	// they are less than the design's.
	Pass, Fail float64
	// Floor bounds the standard deviation of an arm from below: the stored launch
	// noise, and the resolution of the measurement where values tie. 0 for none.
	Floor float64
	// Screen is how far off one launch an arm has to be to fail at once, on the
	// scale of the test, below Theta: ln 0.75 for ratios. 0 for never.
	Screen float64
}

// Look is one look at the data: see verdict.Look.
type Look struct {
	N                                 int
	Estimate, SE, DF, T, PPass, PFail float64
	Chance                            float64
	// Low is the largest Theta that this look would pass, High the smallest that
	// it would fail; ±Inf where there is none.
	Low, High float64
}

// Outcome of a sequential test.
type Outcome string

const (
	Passed   Outcome = "passed"
	Failed   Outcome = "failed"
	Screened Outcome = "screened"
	Futile   Outcome = "futile"
	Ended    Outcome = "ended"
	Open     Outcome = "open"
)

// Sequential decides a question from as many launches as there are: it looks at
// the first n launches of each arm at each of the design's looks, and the first
// look that decides latches, whatever came after it. With fewer launches than
// the last look and no decision it is Open.
func Sequential(q Question, d Design) (Outcome, []Look, error) {
	panic("to be built")
}

// Offer is the design that keeps to the error rates with launches an arm between
// min and max. It returns an error that says what is offered where nothing was
// calibrated. recorded says whether launch noise is recorded: without it, the
// first look is not before 4.
func Offer(falsePass, falseFail float64, min, max int, recorded bool) (Design, error) {
	panic("to be built")
}
