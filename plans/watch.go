package plans

// Watch is what mxflow watch holds each new version of the engine to.
type Watch struct {
	Anchor string `hcl:"anchor,optional" filled:"true" doc:"The release that no version may fall behind, however small its steps: a commit, tag, image or file of pins, of the kind that is watched. Without it, the first version that was watched."`
	Every  int    `hcl:"every,optional" default:"7" min:"1" max:"366" doc:"After how many nights with a new version it is compared with the anchor too. Sooner if what the nights measured adds up to more than a rule allows, and until it passes."`
	// Criteria are what must not get worse.
	Criteria []*Rule
	Range    Range
}

// UsualWatch is that of a plan without a watch block.
func UsualWatch() (w Watch) {
	fill(&w)
	return w
}
