package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Two servers that run already: mxflow did not start them, so there is one start
// of each, and no number of looks at it says what another would do. They are
// shown side by side, and never decided.

func (q *ab) checkURLs() error {
	switch {
	case q.a != "" || q.b != "" || q.url != "":
		return errors.New("--a-url and --b-url are servers that run already, --a and --b commands that start them: give either two of the ones or two of the others")
	case q.aURL == "" || q.bURL == "":
		return errors.New("give both: --a-url http://localhost:8000 --b-url http://localhost:8001")
	case q.aURL == q.bURL:
		return errors.New("--a-url and --b-url are the same server, so there is nothing to compare")
	case q.claimed != "" || q.quick || q.proves() || len(q.changes) > 0:
		return errors.New("nothing can be decided about servers that run already: leave out --claim, --quick, --changes and --must-see, or have mxflow start them with --a and --b")
	}
	for _, u := range []string{q.aURL, q.bURL} {
		if err := endpoint.CheckURL(u); err != nil {
			return err
		}
	}
	name := q.asked
	if name == "" {
		name = "openai"
	}
	kind, ok := kinds.Lookup(name)
	if !ok || kind.Name == "command" {
		return fmt.Errorf("--kind: there is no kind of server %q: see mxflow engine kinds", q.asked)
	}
	q.kind = kind
	q.arms = [2]abArm{{Flag: "a-url", Text: q.aURL}, {Flag: "b-url", Text: q.bURL}}
	return nil
}

// urlPlan is the plan that looks at both in turn.
func (q *ab) urlPlan() []byte {
	w := &planWriter{}
	w.line("# Two servers that run already, side by side. Nothing about them can be decided:\n# there is one start of each.\n\nplan \"ab\" {}\n")
	for i, u := range []string{q.aURL, q.bURL} {
		w.line("engine %s %q {", hclText(q.kind.Name), []string{"A", "B"}[i])
		w.text("model", q.model)
		w.line("\nendpoint {\nurl = %s\n}\n}\n", hclText(u))
	}
	q.planWorkload(w)
	w.line("protocol \"ab\" {\nlevel \"smoke\" {\npattern = \"[[:alpha:]]{2}\"")
	if q.api != "completions" {
		w.text("api", q.api)
	}
	kind := q.kind.Name
	w.line("}\n}\n\nphase \"ab\" {\nstep \"compare\" \"servers\" {")
	w.line("engines = [engine.%s.A, engine.%s.B]\nreference = engine.%s.A\nworkloads = [workload.bench]\nprotocol = protocol.ab", kind, kind, kind)
	w.number("launches", max(2, q.launches))
	w.line("}\n}")
	return hclwrite.Format([]byte(w.b.String()))
}

func (a *app) runningAB(ctx context.Context, q *ab) error {
	at, err := q.place(a.state)
	if err != nil {
		return err
	}
	text := q.urlPlan()
	if q.dryRun {
		_, err := a.stdout.Write(text)
		return err
	}
	if err := at.save(text); err != nil {
		return err
	}
	if q.writePlan != "" {
		if err := writePlanFile(q.writePlan, text); err != nil {
			return err
		}
	}
	began := time.Now()
	a.state, a.generated = at.state, true
	if !a.json {
		a.reword = rewordAB
		fmt.Fprintf(a.stdout, "A  %s\nB  %s\nServers that run already: they are shown side by side, and nothing is decided.\n\n", q.aURL, q.bURL)
		a.ending = func(st *store.Store, run string, s runtime.Summary, end *ledger.End) {
			a.endRunning(s, end, at, time.Since(began))
		}
	}
	return a.apply(ctx, at.plan, nil, "", []string{"all"})
}

func (a *app) endRunning(s runtime.Summary, end *ledger.End, at abPlace, took time.Duration) {
	switch {
	case end.Reason.Code == code.Interrupted:
		fmt.Fprintln(a.stdout, "\nOPEN  Interrupted.")
	case end.Verdict == verdict.Inconclusive:
		fmt.Fprintln(a.stdout, "\nINCONCLUSIVE  There is one start of each server, and two starts of the same server differ too.")
	case end.Verdict == verdict.Error:
		fmt.Fprintln(a.stdout, "\nERROR  A server did not answer as it should, so there is nothing to compare.")
	default:
		fmt.Fprintln(a.stdout, "\nINVALID  The numbers do not count.")
	}
	a.comparisons(s)
	a.lastWords(s)
	if end.Verdict == verdict.Inconclusive {
		fmt.Fprintln(a.stdout, `
next
  Have mxflow start both, each several times in turn: --a 'command' --b 'command'.
  Where it cannot, give a plan an endpoint with restart = ["command that restarts it"].`)
	}
	a.section("kept", [][2]string{{"record", at.state}, {"the plan", at.plan}})
	fmt.Fprintf(a.stdout, "\n%s, exit status %d\n", rough(took.Seconds()), end.Exit)
}
