package plans

// What one client can make of a cell before the first request is sent, as the
// package that makes prompts bounds it (engine/load/prompt/room.go: mostInAll and
// mostMessages; maxTokens here is its mostInOne). It is refused here too, before
// an engine was started for it.
const (
	maxCellTokens   = 400_000_000
	maxCellMessages = 4_000_000
)

// checkRoom refuses cells whose prompts are more than can be made. Of lengths that
// are drawn the least counts, and a file is measured when it is sent, so that what
// passes here may still be refused there.
func (w *Workload) checkRoom(f *body) {
	for _, cell := range w.Cells() {
		n, turns := cell.Requests+cell.Warmup, max(1, w.Turns)
		if n*turns > maxCellMessages {
			f.l.fail(f.def, "More than can be sent", "%s has %d requests, warm-up included, of up to %d turns each: %d messages, and all of a cell are made beforehand, at most %d. Lower requests (or the rate or duration that they follow from), or turns.",
				cell.Address, n, turns, n*turns, maxCellMessages)
			return
		}
		if w.Data != nil {
			continue
		}
		prompt := cell.Prompt
		if w.PromptLengths != nil {
			prompt = w.PromptLengths.Min
		}
		one := cell.Depth + w.SystemTokens + turns*prompt
		switch {
		case one > maxTokens:
			f.l.fail(f.def, "More than can be sent", "A prompt of %s has %d tokens with what comes before it, and at most %d can be made. Lower prompt_tokens, depth, system_tokens or turns.", cell.Address, one, maxTokens)
			return
		case n*one > maxCellTokens:
			f.l.fail(f.def, "More than can be sent", "%s has %d prompts, warm-up included, of %d tokens each with what comes before them: %d tokens, and all of a cell are made beforehand, at most %d. Lower requests (or the rate or duration that they follow from), or the lengths.",
				cell.Address, n, one, n*one, maxCellTokens)
			return
		}
	}
}
