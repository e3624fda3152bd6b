package tell

import "maps"

// catalogue has the words for every code, one file per family.
var catalogue = phrases{}

// In init, as phrases of a family may phrase the causes of a reason.
func init() {
	for _, family := range []phrases{applyPhrases, arguePhrases, explainPhrases, graphPhrases, reportPhrases, rulePhrases, sessionPhrases, featurePhrases, replayPhrases, launchPhrases, levelPhrases, stressPhrases, profilePhrases, stepPhrases, checkPhrases, workPhrases, nextPhrases, boundPhrases} {
		maps.Copy(catalogue, family)
	}
}
