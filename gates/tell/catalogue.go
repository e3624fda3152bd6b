package tell

import "maps"

// catalogue has the words for every code, a file a family.
var catalogue = phrases{}

// In init, since phrases of a family may tell what a reason follows from.
func init() {
	for _, family := range []phrases{applyPhrases, arguePhrases, explainPhrases, graphPhrases, reportPhrases, rulePhrases, sessionPhrases, featurePhrases, replayPhrases, launchPhrases, levelPhrases, stressPhrases, profilePhrases, stepPhrases, checkPhrases, workPhrases, nextPhrases, boundPhrases} {
		maps.Copy(catalogue, family)
	}
}
