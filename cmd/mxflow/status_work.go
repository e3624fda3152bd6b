package main

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// standingReader opens a state directory and says how its newest run stands. That
// it was killed counts only where the ledger still has no end of it when it is read
// again after the lock was looked at: it may have come to its end in between, or
// another run have begun.
func (a *app) standingReader(args []string) (*store.Store, report.Work, error) {
	seen := ""
	for {
		st, err := a.reader(args)
		if err != nil {
			return nil, report.Work{}, err
		}
		w := report.WorkOn(st)
		if w.Run == seen || w.State != report.Killed && w.State != report.Unknown {
			return st, w, nil
		}
		seen = w.Run
		st.Close()
	}
}

// workSays is how the newest run stands, behind its plan's name.
func workSays(w report.Work, last store.RunInfo) string {
	text := fmt.Sprintf("last run %s %s, exit status %d", last.ID, tell.Line(last.Reason), last.Exit)
	switch w.State {
	case report.UnderWay:
		return fmt.Sprintf("run %s is under way%s", last.ID, workWho(w))
	case report.Unknown:
		text = fmt.Sprintf("the last run, %s, has no end on record: it is under way or was killed, and which of the two cannot be told here", last.ID)
	case report.Killed:
		text = fmt.Sprintf("the last run, %s, ended without saying so (killed?): apply again goes on where it stopped", last.ID)
	}
	switch {
	case w.Held && w.State == report.Unknown:
		text += "\na process is at work on this state directory now" + workWho(w)
	case w.Held:
		text += "\nanother process is at work on this state directory now" + workWho(w)
	}
	return text
}

func workWho(w report.Work) string {
	if w.Holder == nil {
		return ""
	}
	return fmt.Sprintf(" (process %d on %s, since %s)", w.Holder.PID, w.Holder.Host, w.Holder.Started.Local().Format("2006-01-02 15:04:05"))
}
