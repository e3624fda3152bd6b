package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/nights"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/arms"
	"github.com/mxflow/mxflow/steps/questions/bisect"
	"github.com/mxflow/mxflow/steps/questions/watch"
	"github.com/mxflow/mxflow/steps/variant"
)

// watchOptions are the command line of mxflow watch, and the night that it makes.
type watchOptions struct {
	*app
	plan, ref, image, pins, source string
	write, accept, by              string
	given                          load.Options
	search, rerun, reuse, dryRun   bool

	job    *watch.Job
	past   nights.State
	night  ledger.Night
	before []ledger.Watched
	show   *view.Watch
	// run is the newest apply of the night.
	run string
}

func newWatchCommand(a *app) *cobra.Command {
	o := &watchOptions{app: a}
	c := &cobra.Command{
		Use:   "watch [PLAN] --ref BRANCH | --image REPO:TAG | --pins FILE",
		Short: "Ask each night whether a branch or image got worse",
		Long: `Run it by cron or a workflow. The candidate is what the name refers to today; it is
compared with last good, the newest version that was not worse, in fresh launches
that take turns. If nothing is new, nothing is launched.

The plan's watch block says what must not get worse, and names the anchor, a
release. Without a rule: decode and prefill at most 3% slower in each cell, and at
most 3% more time to the first token; answers, kernels and eval as the protocol
says.

Not worse moves last good; --write FILE writes it for a commit. Worse has to show
again in fresh launches, at a stricter rate; then it is an alarm, and --bisect
names the commit, image or package. So that small steps do not add up, every 7th
night (watch.every), and as soon as the nights add up to more than a rule allows,
the candidate is compared with the anchor too.

--accept-worse WHY makes the candidate last good without a comparison.

The record is in .mxflow-watch beside the plan; report and serve show a line a
night: mxflow report --state .mxflow-watch/PLAN-NAME/.mxflow. The same command
resumes after Ctrl-C or a kill.

Exit status: 0 not worse or nothing new, 1 refused before anything started, 2 worse
and confirmed, 3 undecided or not confirmed, 4 the candidate or last good cannot be
measured, 130 interrupted.`,
		Example: `  mxflow watch plan.hcl --ref main
  mxflow watch plan.hcl --image vllm/vllm-openai:nightly --write engine.pin
  mxflow watch plan.hcl --ref main --bisect --json
  mxflow watch plan.hcl --ref main --accept-worse 'costs 4%, fixes numerics'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.watch(c.Context(), args) },
	}
	f := c.Flags()
	f.StringVar(&o.ref, "ref", "", "watch a `BRANCH` of the source that the engine is built from")
	f.StringVar(&o.image, "image", "", "watch a tag of an image, `REPO:TAG`")
	f.StringVar(&o.pins, "pins", "", "watch a `FILE` of package pins")
	f.StringVar(&o.source, "repo", "", repoUsage)
	f.StringVar(&o.write, "write", "", "write last good to `FILE`: a commit, an image by digest, or pins")
	f.BoolVar(&o.search, "bisect", false, "after an alarm, find the commit, image or package")
	f.StringVar(&o.accept, "accept-worse", "", "make the candidate last good without a comparison, and record `WHY`")
	byFlag(f, &o.by)
	f.BoolVar(&o.rerun, "rerun", false, "compare again what was decided")
	varFlag(f, &o.given.Inputs)
	reuseFlag(f, &o.reuse)
	f.BoolVar(&o.dryRun, "dry-run", false, dryRunUsage)
	a.jsonFlag(f)
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("accept-worse") && strings.TrimSpace(o.accept) == "" {
			return errors.New("--accept-worse: say why it is accepted")
		}
		return nil
	}
	c.MarkFlagsMutuallyExclusive("dry-run", "json")
	c.MarkFlagsMutuallyExclusive("accept-worse", "rerun")
	c.MarkFlagsMutuallyExclusive("accept-worse", "dry-run")
	return c
}

// errInterrupted ends a night that was interrupted.
var errInterrupted = errors.New("interrupted")

func (o *watchOptions) watch(ctx context.Context, args []string) error {
	o.fold()
	seen, err := o.prepare(ctx, args)
	if err != nil {
		return err
	}
	t := nights.Tonight{
		Candidate: o.night.Candidate, Anchor: o.night.Anchor,
		Machine: variant.MachineKey(machine.Environment(), o.job.Plan),
	}
	switch known := seen != nil && seen.Candidate.ID == t.Candidate.ID; {
	case o.accept != "":
		o.night.Outcome, o.night.By, o.night.Reason = ledger.NightAccepted, o.by, o.accept
	case len(o.before) > 0 && (t.Candidate.ID == o.night.Good.ID || known && !o.rerun):
		o.night.Outcome = ledger.NightQuiet
	case o.dryRun && o.first():
		_, err := fmt.Fprintf(o.stdout, "%s would be last good and the anchor\n", t.Candidate.Short())
		return err
	case o.dryRun:
		question, err := o.question(nights.Ask{Against: ledger.AgainstGood})
		if err == nil {
			_, err = io.WriteString(o.stdout, question)
		}
		return err
	default:
		beginStream(o.app)
		o.ask()
		o.night.Machine = t.Machine
		if err := o.compare(ctx, t); err != nil {
			return err
		}
	}
	if o.dryRun {
		_, err := fmt.Fprintf(o.stdout, "nothing new: %s is %s\n", o.night.Watched, report.Named(o.night.Candidate))
		return err
	}
	if o.night.Outcome == ledger.NightAlarm && o.search {
		o.find(ctx)
	}
	return o.end(seen)
}

// prepare reads the plan, the record, and what the names refer to today. seen is the newest night that
// decided about a candidate.
func (o *watchOptions) prepare(ctx context.Context, args []string) (seen *ledger.Watched, err error) {
	if o.plan, err = o.planOf(args); err != nil {
		return nil, err
	}
	if o.accept != "" {
		if o.accept, err = oneLine("accept-worse", o.accept, 2000, "why"); err == nil {
			o.by, err = author(o.by)
		}
	}
	if err != nil {
		return nil, err
	}
	loaded, _, err := o.load(o.plan, o.given)
	if err != nil {
		return nil, err
	}
	if o.job, err = watch.New(loaded.Plan, o.ref, o.image, o.pins, o.source); err != nil {
		return nil, err
	}
	if o.app.state == "" {
		if err := arms.Folder(filepath.Join(loaded.Plan.Dir, watch.Folders)); err != nil {
			return nil, err
		}
	} else {
		o.job.Folder = filepath.Dir(o.app.state)
	}
	if err := writable(o.write); err != nil {
		return nil, err
	}
	n := &o.night
	n.Watched = o.job.Name()
	if n.Candidate, err = o.job.Now(ctx); err != nil {
		return nil, err
	}
	release, err := o.job.Release(ctx)
	if err != nil {
		return nil, err
	}
	st, err := store.OpenReadOnly(o.dir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := ledgerGone(o.dir()); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		defer st.Close()
		if err := apply.SamePlan(st, loaded.Plan); err != nil {
			return nil, err
		}
		o.before = st.Nights()
		o.past = nights.StateOf(o.before, func(w ledger.Watched) []nights.Session {
			return nights.Trials(w, st.Attempt)
		})
	}
	switch k := len(o.before); {
	case k > 0 && o.before[k-1].Watched != n.Watched:
		return nil, fmt.Errorf("the record in %s is of %s: name another --state for %s", o.dir(), o.before[k-1].Watched,
			n.Watched)
	case k == 0 && o.accept != "":
		return nil, errors.New("--accept-worse: there is no last good yet; the first night makes one")
	case k == 0:
		o.past.Good, o.past.Anchor = release, release
	}
	n.Good, n.Anchor, n.Release = o.past.Good, o.past.Against(release), release.ID
	n.Every = o.job.Watch().Every
	return o.past.Seen, nil
}

// dir is the state directory of the watch.
func (o *watchOptions) dir() string {
	return cmp.Or(o.app.state, filepath.Join(o.job.Folder, store.DirName))
}

func (o *watchOptions) ask() {
	o.show = &view.Watch{
		Job: o.job, Candidate: o.night.Candidate, Good: o.night.Good, Anchor: o.night.Anchor, Screen: o.screen,
		Quiet: o.json,
	}
	since := time.Time{}
	for _, w := range o.before {
		if w.Candidate.ID == o.night.Good.ID && w.Outcome != ledger.NightQuiet {
			since = w.Time
		}
	}
	o.show.Ask(since)
}

// first reports whether nothing is on record, and nothing else is there to compare the candidate with.
func (o *watchOptions) first() bool {
	return len(o.before) == 0 && (o.night.Good.ID == "" || o.night.Good.ID == o.night.Candidate.ID)
}

// compare makes the sessions of a night, until it is clear what follows.
func (o *watchOptions) compare(ctx context.Context, t nights.Tonight) error {
	if o.first() { // what later versions are compared with
		question, err := o.job.Start(t.Candidate)
		if err != nil {
			return err
		}
		d, why, err := o.apply(ctx, question, runtime.BaselineID, nights.Ask{})
		if err != nil {
			return err
		}
		if o.night.Good.ID == "" {
			o.night.Good, o.night.Anchor = t.Candidate, t.Candidate
		}
		if d == nil || d.Verdict != verdict.Pass {
			return o.fail(verdict.ExitBroken,
				fmt.Errorf("%s does not pass what comes before measuring, so the watch does not begin: %s",
					t.Candidate.Short(), briefOf(d, why)))
		}
		o.night.Outcome = ledger.NightStart
		return nil
	}
	for {
		ask, outcome := o.past.Next(t, o.job.Watch().Every)
		if ask == nil {
			o.night.Outcome = outcome
			return nil
		}
		question, err := o.question(*ask)
		if err != nil {
			return err
		}
		node := runtime.FeatureID(watch.Variant(t.Candidate))
		d, why, err := o.apply(ctx, question, node, *ask)
		if err != nil {
			return err
		}
		if d == nil {
			o.night.Outcome, o.night.Why = ledger.NightBroken, why
			return nil
		}
		x := nights.SessionOf(*ask, d)
		if err := o.recorded(func(st *store.Store) { o.show.Session(st, x, d) }); err != nil {
			return err
		}
		t.Sessions = append(t.Sessions, x)
		o.night.Sessions = append(o.night.Sessions, ledger.NightTrial{
			Against: ask.Against, Again: ask.Again, Node: node, Attempt: d.Attempt,
		})
	}
}

// broke reports whether the candidate could not be measured when it was last asked about.
func (o *watchOptions) broke() (broke bool) {
	for _, w := range o.before {
		if w.Candidate.ID == o.night.Candidate.ID && w.Outcome != ledger.NightQuiet {
			broke = w.Outcome == ledger.NightBroken
		}
	}
	return broke
}

func briefOf(d *ledger.Decision, why verdict.Reason) string {
	if d == nil {
		return why.String()
	}
	return report.Brief(d)
}

func (o *watchOptions) question(a nights.Ask) (string, error) {
	against := o.night.Good
	if a.Against == ledger.AgainstAnchor {
		against = o.night.Anchor
	}
	return o.job.Question(a, against, o.night.Candidate, len(o.before)+1)
}

// apply applies a question, and finds what it decided about a node, or why nothing.
func (o *watchOptions) apply(ctx context.Context, question, node string, a nights.Ask) (*ledger.Decision,
	verdict.Reason, error,
) {
	none := verdict.Reason{}
	if err := os.MkdirAll(o.dir(), 0o755); err != nil {
		return nil, none, err
	}
	run := applying{
		path: o.plan, dir: o.dir(), given: load.Options{Inputs: o.given.Inputs, Question: question}, reuse: o.reuse,
		watch: o.show.Observer(newProgress(o.app, true), a), tell: o.errorsOnly,
	}
	if (o.rerun || o.broke()) && !a.Again && a.Against != "" { // another try, which has a smaller chance to pass
		run.rerun = []string{watch.Variant(o.night.Candidate)}
	}
	res, err := applyPlan(ctx, o.app, run)
	switch {
	case err != nil:
		return nil, none, err
	case res.Exit == verdict.ExitInterrupted:
		fmt.Fprintln(o.stderr, "interrupted: the same command resumes")
		return nil, none, fmt.Errorf("%w%w", errInterrupted, errShown)
	}
	o.run, o.exit = res.Run, 0
	for _, row := range res.Summary.Rows {
		if row.Node.ID == node && row.Decision != nil {
			return row.Decision, none, nil
		} else if row.Node.ID == node {
			none = row.Locked
		}
	}
	for _, row := range res.Summary.Rows { // what locked it
		if row.Node.ID == runtime.BaselineID && row.Decision != nil && row.Decision.Verdict != verdict.Pass {
			none = verdict.Say("watch.reference_broken", "the version to compare with does not pass: {why}",
				verdict.Text("why", report.Brief(row.Decision)))
		}
	}
	return nil, none, nil
}

// recorded reads the record of the watch.
func (o *watchOptions) recorded(read func(*store.Store)) error {
	st, err := store.OpenReadOnly(o.dir())
	if err == nil {
		read(st)
		st.Close()
	}
	return err
}

// find searches for what made it worse, between what it is worse than and the candidate. What came of it is
// on record with the night; a search that did not end is resumed by its own command.
func (o *watchOptions) find(ctx context.Context) {
	last := o.night.Sessions[len(o.night.Sessions)-1]
	good := o.night.Good
	if last.Against == ledger.AgainstAnchor {
		good = o.night.Anchor
	}
	found, err := o.searched(ctx, last, good)
	if err != nil {
		if !errors.Is(err, errShown) {
			o.complain(fmt.Errorf("no search: %w", err))
		}
		found = &ledger.NightFound{Outcome: "no answer", Said: "no answer: " + err.Error()}
	}
	o.night.Found = found
}

func (o *watchOptions) searched(ctx context.Context, last ledger.NightTrial, good ledger.Version) (*ledger.NightFound,
	error,
) {
	rule := ""
	if err := o.recorded(func(st *store.Store) {
		rule = watch.Broken(st.Attempt(last.Node, last.Attempt))
	}); err != nil {
		return nil, err
	}
	if rule == "" {
		return nil, errors.New("the candidate crashed, and no rule or level says by what to search")
	}
	own := *o.app // the search has a record of its own
	own.state = ""
	b := &bisectOptions{
		app: &own, plan: o.plan, good: good.ID, bad: o.night.Candidate.ID, source: o.source, rule: rule, given: o.given,
		reuse: o.reuse, streams: true,
	}
	switch {
	case o.image != "":
		b.good, b.bad, b.images = "", "", filepath.Join(o.job.Folder, "images.txt")
		if err := os.WriteFile(b.images, []byte(strings.Join(o.imagesSince(good), "\n")+"\n"), 0o644); err != nil {
			return nil, err
		}
	case o.pins != "":
		b.good, b.bad = o.job.PinsOf(good), o.job.PinsOf(o.night.Candidate)
	}
	a, j, err := b.find(ctx)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, fmt.Errorf("interrupted; to resume it: %s", b.command())
	}
	found := &ledger.NightFound{Outcome: string(a.Outcome), Said: a.Said(j, shell.Line("mxflow", "noise", o.plan))}
	if a.Outcome == bisect.Found {
		c := j.Candidates[a.Child]
		found.Version = ledger.Version{ID: cmp.Or(c.Ref, c.Image, c.ID), Title: c.Title}
	}
	return found, nil
}

// imagesSince are the images of the nights since a version was last good, tonight's last.
func (o *watchOptions) imagesSince(good ledger.Version) []string {
	list := []string{good.ID}
	for _, w := range o.before {
		if w.Candidate.ID == good.ID {
			list = list[:1]
		} else if w.Outcome != ledger.NightQuiet && !slices.Contains(list, w.Candidate.ID) {
			list = append(list, w.Candidate.ID)
		}
	}
	return append(slices.DeleteFunc(list, func(id string) bool { return id == o.night.Candidate.ID }),
		o.night.Candidate.ID)
}

// nightExits are the exit statuses of nights.
var nightExits = map[ledger.NightOutcome]int{
	ledger.NightAlarm: verdict.ExitFail, ledger.NightWorse: verdict.ExitFail,
	ledger.NightUnconfirmed: verdict.ExitInconclusive, ledger.NightUndecided: verdict.ExitInconclusive,
	ledger.NightBroken: verdict.ExitBroken,
}

// end records the night, writes the pin and shows both.
func (o *watchOptions) end(seen *ledger.Watched) error {
	if err := o.keep(); err != nil {
		return o.fail(verdict.ExitBroken, fmt.Errorf("the night is not on record: %w", err))
	}
	st, err := store.OpenReadOnly(o.dir())
	if err != nil {
		return o.fail(verdict.ExitBroken, err)
	}
	defer st.Close()
	all, state := report.NightsOf(st)
	if o.show == nil {
		o.show = &view.Watch{Job: o.job, Screen: o.screen}
	}
	o.exit = nightExits[o.night.Outcome]
	wrote, err := o.writePin(state.Good)
	if err != nil {
		return o.fail(verdict.ExitBroken, fmt.Errorf("--write: %w; the night is on record, and the same command "+
			"writes the file without a launch", err))
	}
	n := &all[len(all)-1]
	if o.json {
		o.printLine(struct {
			Type  string `json:"type"`
			Exit  int    `json:"exit"`
			Wrote string `json:"wrote,omitempty"`
			State string `json:"state"`
			*report.Night
		}{"watch_result", o.exit, wrote, o.dir(), n})
		return nil
	}
	o.show.End(n, seen, shell.Line("mxflow", "noise", o.plan))
	if wrote != "" {
		fmt.Fprintf(o.stdout, "wrote     %s\n", wrote)
	}
	if o.night.Outcome != ledger.NightQuiet {
		fmt.Fprintf(o.stdout, "history   %s\n", shell.Line("mxflow", "report", "--state", o.dir(), o.plan))
	}
	return nil
}

// keep appends the night to the record.
func (o *watchOptions) keep() error {
	lock, err := store.Lock(o.dir())
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	st, err := store.OpenSigned(o.dir(), audit.Signer(o.stderr))
	if err != nil {
		return err
	}
	defer st.Close()
	if runs := st.AllRuns(); o.run == "" && len(runs) > 0 {
		o.run = runs[len(runs)-1].ID
	}
	return st.Append(&ledger.Record{Type: "night", Time: time.Now().UTC(), Run: o.run, Night: &o.night})
}

// writable returns an error if the file of --write cannot be written: better before a night than after it.
func writable(name string) error {
	if name == "" {
		return nil
	}
	_, missing := os.Stat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("--write: %w: name a file that can be written", err)
	}
	if f.Close(); missing != nil {
		return os.Remove(name)
	}
	return nil
}

// writePin writes last good to the file of --write, unless it holds it, and returns its name if it did.
func (o *watchOptions) writePin(good ledger.Version) (string, error) {
	if o.write == "" {
		return "", nil
	}
	pin, err := o.job.Pin(good)
	if err != nil {
		return "", err
	}
	if held, err := os.ReadFile(o.write); err == nil && bytes.Equal(held, pin) {
		return "", nil
	}
	return o.write, os.WriteFile(o.write, pin, 0o644)
}
