package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
)

// check reports what is wrong with a record on its own.
func (r *Record) check() error {
	set := []string{}
	for _, p := range []struct {
		name string
		set  bool
	}{
		{"run", r.RunStart != nil},
		{"start", r.Start != nil},
		{"launch", r.Launch != nil},
		{"decision", r.Decision != nil},
		{"end", r.End != nil},
		{"waiver", r.Waiver != nil},
		{"night", r.Night != nil},
	} {
		if p.set {
			set = append(set, p.name)
		}
	}
	switch {
	case len(set) != 1:
		return fmt.Errorf("must have exactly one of run_start, start, launch, decision, waiver, night and end, "+
			"but has %d", len(set))
	case r.Type != set[0]:
		return fmt.Errorf("has type %q but contains a %s", r.Type, set[0])
	case r.Run == "":
		return errors.New("has no run")
	case r.Time.IsZero():
		return errors.New("has no time")
	case r.Time.Location() != time.UTC:
		return fmt.Errorf("has a time that is not UTC: %s", r.Time.Format(time.RFC3339Nano))
	}
	switch {
	case r.Start != nil && (r.Start.Launch == "" || r.Start.VariantKey == ""):
		return errors.New("is a start without a launch or its variant")
	case r.Launch != nil:
		return r.Launch.check()
	case r.Decision != nil:
		return r.Decision.check()
	case r.Waiver != nil:
		return r.Waiver.check(r.Time)
	case r.Night != nil:
		return r.Night.check()
	case r.End != nil && r.End.Verdict != "" && !r.End.Verdict.Known():
		return unknown("verdict", string(r.End.Verdict))
	}
	return nil
}

func (l *Launch) check() error {
	switch {
	case l.ID == "":
		return errors.New("is a launch without an ID")
	case !slices.Contains(purposes, l.Purpose):
		return unknown("purpose", l.Purpose, purposes...)
	case l.Started.Location() != time.UTC:
		return fmt.Errorf("has a start that is not UTC: %s", l.Started.Format(time.RFC3339Nano))
	}
	return nil
}

func (d *Decision) check() error {
	switch {
	case d.Node == "":
		return errors.New("is a decision without a node")
	case !slices.Contains(kinds, d.Kind):
		return unknown("kind", d.Kind, kinds...)
	case !d.Verdict.Known():
		return unknown("verdict", string(d.Verdict))
	case d.Attempt < 1:
		return fmt.Errorf("is attempt %d of %s, but attempts count from 1", d.Attempt, d.Node)
	}
	for _, l := range d.Levels {
		if !l.Verdict.Known() {
			return unknown("verdict of level "+l.Name, string(l.Verdict))
		}
	}
	for _, r := range d.Rules {
		if !r.Verdict.Known() {
			return unknown("verdict of rule "+r.Name, string(r.Verdict))
		}
	}
	chosen := ""
	for _, a := range d.Alternatives {
		switch {
		case !a.Verdict.Known():
			return unknown("verdict of alternative "+a.Name, string(a.Verdict))
		case a.Chosen && chosen != "":
			return fmt.Errorf("chooses both %s and %s, but at most one alternative may enter the stack", chosen, a.Name)
		case a.Chosen:
			chosen = a.Name
		}
	}
	for _, c := range d.Confirmations {
		if c.Verdict != "" && !c.Verdict.Known() {
			return unknown("verdict on engine."+c.Engine, string(c.Verdict))
		}
	}
	return nil
}

func unknown(what, got string, known ...string) error {
	if len(known) == 0 {
		known = verdict.Words()
	}
	return fmt.Errorf("has unknown %s %q; expected one of %s", what, got, strings.Join(known, ", "))
}
