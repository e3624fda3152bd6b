package plans

// Watch is what mxflow watch holds each new version of the engine to.
type Watch struct {
	Anchor string `hcl:"anchor,optional" filled:"true" doc:"The release that no version may fall behind. A commit, tag, image or file of pins, of the kind that is watched; small steps do not add up to more than a rule allows. Without it, the first version that was watched."`
	Every  int    `hcl:"every,optional" default:"7" min:"1" max:"366" doc:"Nights with a new version between comparisons with the anchor. Sooner if what the nights measured adds up to more than a rule allows, and until it passes."`
	// Criteria are what must not get worse.
	Criteria []*Rule
	Range    Range
}

// UsualWatch is that of a plan without a watch block.
func UsualWatch() (w Watch) {
	fill(&w)
	return w
}
