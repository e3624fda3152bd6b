package ledger

// Goal is a plan's requirements on a feature's launches, or on those behind a phase, when
// a run started. It proves that a rule existed before its launches, whatever the plan
// says today.
type Goal struct {
	// Compares must all hold.
	Compares []Compare `json:"compares,omitempty"`
	// FalsePass, FalseFail, First and Alternatives are how they were decided; First is
	// launches per arm at the first look.
	FalsePass    float64 `json:"false_pass,omitempty"`
	FalseFail    float64 `json:"false_fail,omitempty"`
	First        int     `json:"first,omitempty"`
	Alternatives int     `json:"alternatives,omitempty"`
	// Prefer is the metric by which one of the alternatives is chosen.
	Prefer string `json:"prefer,omitempty"`
}

// FirstMoved reports whether the first look was moved from one number of launches per arm
// to another. A look at two precedes the one at three and takes nothing of its levels, so
// these are equal.
func FirstMoved(was, is int) bool { return was != is && (min(was, is) != 2 || max(was, is) != 3) }

type Compare struct {
	// Text is how it was written, with the plan's numbers if it reads any.
	Text  string   `json:"text"`
	Reads []string `json:"reads,omitempty"`
	// Metric is what is compared with Threshold, under one name however it was written;
	// empty for words and for parts of which one is enough, which only their text
	// identifies.
	Metric string `json:"metric,omitempty"`
	// AtLeast is set if more than Threshold is wanted, Strict if equality is not enough
	// for a value without noise.
	AtLeast   bool    `json:"at_least,omitempty"`
	Strict    bool    `json:"strict,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
}

// Covers reports whether c asks for the same as o, or for more of it. What cannot be
// compared is not covered.
func (c Compare) Covers(o Compare) bool {
	switch {
	case c.Metric == "" || o.Metric == "":
		return c.Metric == o.Metric && c.Text == o.Text
	case c.Metric != o.Metric || c.AtLeast != o.AtLeast:
		return false
	case c.Threshold == o.Threshold:
		return c.Strict || !o.Strict
	}
	return c.Threshold > o.Threshold == c.AtLeast
}
