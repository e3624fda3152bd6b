package main

import (
	"fmt"

	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// standingReader opens a state directory and says how its newest run stands.
func (a *app) standingReader(args []string) (*store.Store, report.Work, error) {
	st, err := a.reader(args)
	if err != nil {
		return nil, report.Work{}, err
	}
	w := report.WorkOn(st)
	if w.State != report.Killed {
		return st, w, nil
	}
	// It may have come to its end after the ledger was read and before the lock was
	// looked at.
	st.Close()
	if st, err = a.reader(args); err != nil {
		return nil, w, err
	}
	return st, report.WorkOn(st), nil
}

// workSays is how the newest run stands, behind its plan's name.
func workSays(w report.Work, last store.RunInfo) string {
	text := fmt.Sprintf("last run %s %s, exit status %d", last.ID, last.Reason, last.Exit)
	switch w.State {
	case report.UnderWay:
		return fmt.Sprintf("run %s is under way%s", last.ID, workWho(w))
	case report.Unknown:
		return fmt.Sprintf("run %s is under way, or was killed (apply again goes on)", last.ID)
	case report.Killed:
		text = fmt.Sprintf("the last run, %s, ended without saying so (killed?): apply again goes on where it stopped", last.ID)
	}
	if w.Held {
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
