package measure

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// step is one token event: tokens that arrived together.
type step struct {
	at time.Duration
	// tokens that arrived with it; 0 where it is not known how many.
	tokens int
}

// timeline is a sample's token events from the first text event on.
type timeline struct {
	steps []step
	// textEvents counts events with generated text.
	textEvents int
	// after is the number of tokens after the first step; -1 if unknown.
	after int
	// counted says that every step's tokens are known.
	counted bool
}

// mostTokens is how many tokens an answer can have had: far more than were asked
// for is a server's mistake, and each of them would be kept with its time.
func mostTokens(s Sample) int {
	if s.RequestedOutput > 0 && s.RequestedOutput < math.MaxInt32/16 {
		return 16*s.RequestedOutput + 1024
	}
	return 1 << 22
}

// check refuses a sample that no metric may be derived from.
func check(s Sample) error {
	if s.Err != "" {
		return fmt.Errorf("request failed: %s", s.Err)
	}
	if len(s.Events) == 0 {
		return errors.New("sample has no events")
	}
	if s.recorded() && (s.Scheduled < 0 || s.Due < s.Scheduled || s.Start < s.Due) {
		return fmt.Errorf("scheduled at %v, due at %v and sent at %v: these times run backwards", s.Scheduled, s.Due, s.Start)
	}
	var last time.Duration
	count := 0
	for i, e := range s.Events {
		if e.At < 0 {
			return fmt.Errorf("event %d has a negative time (%v)", i, e.At)
		}
		if e.At < last {
			return fmt.Errorf("event %d at %v comes before the event that precedes it, at %v", i, e.At, last)
		}
		last = e.At
		if e.Tokens < 0 {
			continue
		}
		if e.Tokens < count {
			return fmt.Errorf("the server's token count falls from %d to %d at event %d", count, e.Tokens, i)
		}
		if e.Tokens > mostTokens(s) {
			return fmt.Errorf("event %d claims %d tokens, and %d were asked for", i, e.Tokens, s.RequestedOutput)
		}
		count = e.Tokens
	}
	return nil
}

// tokensOf finds the token events of a checked sample.
//
// With a count in every text event, tokens are differences of counts and an
// event in which the count rises is a token event even without text. Otherwise
// only the total is known: text events are the steps, and where there are fewer
// of them than tokens, the last event before the closing counts ends the answer.
func tokensOf(s Sample) timeline {
	if perEvent(s.Events) {
		return countedTimeline(s.Events)
	}
	return totalTimeline(s)
}

// perEvent reports whether the server counted in every text event. A count of
// zero beside text is a server that fills in a number without counting.
func perEvent(events []Event) bool {
	seen := false
	for _, e := range events {
		if !e.HasText() {
			continue
		}
		if e.Tokens < 1 {
			return false
		}
		seen = true
	}
	return seen
}

func countedTimeline(events []Event) timeline {
	t := timeline{counted: true}
	first, count := 0, 0
	for _, e := range events {
		rose := e.Tokens > count && e.Kind != KindUsage && e.Kind != KindDone
		switch {
		case e.HasText() && t.textEvents == 0:
			first, count = e.Tokens, e.Tokens
			t.steps = append(t.steps, step{e.At, e.Tokens})
		case t.textEvents > 0 && (e.HasText() || rose):
			t.steps = append(t.steps, step{e.At, e.Tokens - count})
			count = e.Tokens
		}
		if e.HasText() {
			t.textEvents++
		}
	}
	t.after = count - first
	return t
}

func totalTimeline(s Sample) timeline {
	t := timeline{after: -1}
	var end time.Duration
	for _, e := range s.Events {
		if e.HasText() {
			t.textEvents++
			t.steps = append(t.steps, step{at: e.At})
		}
		if e.Kind != KindUsage && e.Kind != KindDone {
			end = e.At
		}
	}
	if t.textEvents == 0 {
		return t
	}
	if s.OutputTokens >= 0 {
		t.after = s.OutputTokens - 1
	}
	// One token an event, if the totals agree: then the last text event is the
	// last token.
	silent := s.OutputTokens - t.textEvents
	if silent == 0 || (silent == 1 && s.Finish == "stop") {
		t.counted = true
		for i := range t.steps {
			t.steps[i].tokens = 1
		}
	}
	// Tokens without text may have come after the last text: the end-of-text
	// token of an answer that ended by itself, or any number of them.
	if last := t.steps[len(t.steps)-1]; silent > 0 && end > last.at {
		tokens := 0
		if t.counted {
			tokens = 1
		}
		t.steps = append(t.steps, step{end, tokens})
	}
	return t
}
