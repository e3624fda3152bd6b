// Package questions has no code: below it is what may be asked of an engine without
// porting anything, ab (is B faster than A?), bisect (which commit made it slower?), watch (is
// tonight's worse than the last good one?) and arms, which makes a plan's engine answer any of
// them. Each makes a plan from its question and reads the answer from what an apply decided;
// none starts or measures anything.
package questions
