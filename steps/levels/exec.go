package levels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/program"
	"github.com/mxflow/mxflow/steps/variant"
)

// The environment of a level's program.
const (
	envURL       = "MXFLOW_URL"        // the engine's API, without /v1
	envModel     = "MXFLOW_MODEL"      // the model name for requests
	envAPIKey    = "MXFLOW_API_KEY"    // if it requires one
	envLog       = "MXFLOW_LOG"        // its log so far
	envParentOut = "MXFLOW_PARENT_OUT" // what it left for the parent; empty for the baseline
	envVariant   = "MXFLOW_VARIANT"    // the variant's name
	envKnobs     = "MXFLOW_KNOBS"      // its knob values as a JSON object
)

var execKind = Kind{
	Schema: plans.Schema{
		Asks:  true,
		Label: "What rules and reports call it: `levels.<name>`.",
		Doc:   "Runs your own program against the engine under test, in the qualification launch. Exit status 0 passes, any other status or the time limit fails, and a program that cannot be started is an error. The engine is given in `$MXFLOW_URL`, `$MXFLOW_MODEL`, `$MXFLOW_API_KEY` and `$MXFLOW_LOG`, the variant in `$MXFLOW_VARIANT` and `$MXFLOW_KNOBS` (JSON). Files written to `$MXFLOW_OUT` become artifacts; those of the parent's run are in `$MXFLOW_PARENT_OUT`.",
		Example: `level "exec" "accuracy" {
  command = ["python3", "eval.py"]
  timeout = "20m"

  metric "exact_match" {
    jq     = ".exact_match"
    unit   = "share"
    better = "higher"
  }
}`,
		Attrs: []plans.Attr{
			{Name: "command", Type: plans.Strings, Required: true, Doc: "The program and its arguments; no shell is involved. Use [\"sh\", \"-c\", \"…\"] for one."},
			{Name: "dir", Type: plans.String, Default: ".", Doc: "Working directory, relative to the plan's folder."},
			{Name: "env", Type: plans.Map, Doc: "Set on top of the inherited environment."},
			{Name: "timeout", Type: plans.Duration, Default: "30m", Doc: "After this time the program is stopped and the level fails."},
		},
		Parts: execParts(),
		Check: program.CheckCommand,
		Finds: func(b *plans.Block) (found []plans.Found) {
			found = program.Finds(b)
			if len(b.Parts["items"]) > 0 {
				found = append(found, pairedFinds...)
			}
			return found
		},
	},
	make: func(b *plans.Block) (level, error) {
		e := &exec{}
		if err := b.Decode(e); err != nil {
			return nil, err
		}
		for _, items := range b.Parts["items"] {
			e.items, _ = items.Attrs["jq"].(string)
		}
		reads, err := variant.ReadsOf(b.Parts)
		e.reads = reads
		return e, err
	},
}

// pairedFinds are the numbers of items paired with the parent's.
var pairedFinds = []plans.Found{
	{Name: "lost", Unit: "count", Better: "lower", Doc: "Items that the parent gets right and this variant wrong."},
	{Name: "gained", Unit: "count", Better: "higher", Doc: "Items that the parent gets wrong and this variant right."},
	{Name: "lost_p", Unit: "share", Better: "higher", Doc: "The chance of at least this many losses if neither is better."},
}

func execParts() map[string]plans.Part {
	parts := variant.ProgramParts("Its name in rules: `levels.<level>.<name>`, with `.base`, `.delta` and `.change`.")
	parts["items"] = variant.ItemsPart
	return parts
}

// exec is a level that runs the user's program.
type exec struct {
	Command []string          `json:"command"`
	Dir     string            `json:"dir"`
	Env     map[string]string `json:"env"`
	Timeout plans.Dur         `json:"timeout"`

	reads *variant.Command
	items string
}

func (e *exec) run(ctx context.Context, q *qualification) (*artifact, error) {
	name := q.level.Level()
	base := filepath.Join(q.Lab.RunDir, "launches", runtime.FileName(q.Record.ID)) + "." + name
	l := engine.Launch{ID: q.Record.ID + "-" + name, Owner: q.Lab.Owner, LogPath: base + ".log", OutPath: base + ".out"}
	defer os.Remove(l.OutPath)
	out, parent := base+".files", base+".parent"
	defer os.RemoveAll(out)
	defer os.RemoveAll(parent)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("no folder for the program's files: %w", err)
	}
	left, err := e.fromParent(q, parent)
	if err != nil {
		return nil, err
	}
	env, err := e.environ(ctx, q)
	if err != nil {
		return nil, err
	}
	env[envURL], env[envLog], env[program.OutVariable], env[envParentOut] = q.Inst.Access().BaseURL, q.Inst.LogPath(), out, left
	maps.Copy(env, e.Env) // the plan's values come last
	run, err := process.StartCommand(engine.Spec{Command: e.Command, Dir: q.Lab.Plan.Path(e.Dir), Env: env, StopGrace: stopGrace}, l)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &artifact{Ended: verdict.Error, Why: verdict.Because(code.NotStarted, verdict.Line(err))}, nil
	}
	ended, err := program.Await(ctx, q.hard, run, time.Duration(e.Timeout), l.OutPath, q.Lab.Redact)
	if err != nil {
		return nil, err
	}
	q.answered = true
	select {
	case <-q.Inst.Exited():
		// The program's result for an engine that died says nothing about its answers.
		return nil, &verdict.Fault{Reason: verdict.New(code.EngineEnded, verdict.Text("exit", exitOf(q.Inst).String()))}
	default:
	}
	if err := e.keepFiles(q, l, out); err != nil {
		return nil, err
	}
	if q.parent.Qualified != nil {
		q.against = []*ledger.Launch{q.parent.Qualified}
	}
	a := &artifact{Ended: ended.Verdict, Why: ended.Reasons}
	if a.Ended != verdict.Pass {
		a.Why = append(a.Why, lastWords(ended.LogTail)...)
	} else if err := e.keepOutput(q, l.OutPath, out); err != nil {
		a.Ended, a.Why = verdict.Error, verdict.Because(code.NumbersUnread, verdict.Line(err))
	}
	return a, nil
}

// keepOutput keeps what numbers are read from: the program's output, or one of its files.
func (e *exec) keepOutput(q *qualification, printed, out string) error {
	if !e.reading() {
		return nil
	}
	if e.reads.File != "" {
		_, err := variant.ReadOutput(filepath.Join(out, e.reads.File))
		return err
	}
	text, err := variant.ReadOutput(printed)
	if err != nil {
		return err
	}
	return q.keep(outputFile, text)
}

// judge reads the numbers of a program that passed.
func (e *exec) judge(ctx context.Context, of *evidence) (verdict.Verdict, []verdict.Reason, error) {
	if of.Ended != verdict.Pass || !e.reading() {
		return of.Ended, of.Why, nil
	}
	path := outputFile
	if e.reads.File != "" {
		path = filesFolder + filepath.ToSlash(e.reads.File)
	}
	text, err := of.left(path)
	if err != nil {
		return "", nil, err
	}
	paired, err := e.readNumbers(ctx, of, text)
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case err != nil:
		return verdict.Error, verdict.Because(code.NumbersUnread, verdict.Line(err)), nil
	}
	reasons := slices.Clone(of.Why)
	for _, m := range e.reads.Prints() {
		reasons = append(reasons, program.Said(of.numbers[plans.FoundAddress(of.block.Level(), m.Called())], m.Called()))
	}
	return verdict.Pass, append(reasons, paired...), nil
}

// exitOf is how an engine that has ended did.
func exitOf(inst engine.Instance) *engine.Exit { return cmp.Or(inst.Exit(), &engine.Exit{Code: -1}) }

// lastWords is the last output of a failed program.
func lastWords(tail []string) []verdict.Reason {
	for _, line := range slices.Backward(tail) {
		if line = strings.TrimSpace(line); line != "" {
			return []verdict.Reason{verdict.Say("exec.last_words", "its last output: {line}",
				verdict.Text("line", line))}
		}
	}
	return nil
}

// stopGrace is how long a program may take to stop.
const stopGrace = 10 * time.Second

// environ is what the program is told about the variant and the engine's API.
func (e *exec) environ(ctx context.Context, q *qualification) (map[string]string, error) {
	set := q.variant.Knobs
	if set == nil {
		set = map[string]string{}
	}
	knobs, err := json.Marshal(set)
	if err != nil {
		return nil, err
	}
	model := q.Client.Model
	if model == "" {
		models, err := q.Client.Models(ctx)
		if err != nil {
			return nil, err
		}
		model = models[0].ID
	}
	key, _ := strings.CutPrefix(q.Inst.Access().Header.Get("Authorization"), "Bearer ")
	return map[string]string{envModel: model, envAPIKey: key, envVariant: q.variant.Name, envKnobs: string(knobs)}, nil
}

// fromParent puts the program's files for the parent into a folder, and returns it; empty
// if there are none.
func (e *exec) fromParent(q *qualification, folder string) (string, error) {
	if q.parent.Qualified == nil {
		return "", nil
	}
	found := ""
	for path, sum := range q.parent.Qualified.Left {
		rest, ok := strings.CutPrefix(path, q.level.Level()+"/"+filesFolder)
		if !ok || !filepath.IsLocal(rest) {
			continue
		}
		content, err := q.Lab.Store.Get(sum)
		if err != nil {
			return "", fmt.Errorf("the parent's files are not in the state directory: %w", err)
		}
		to := filepath.Join(folder, rest)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return "", err
		}
		found = folder
	}
	return found, nil
}

const (
	// filesFolder is the path of the program's files among the level's artifacts.
	filesFolder = "files/"
	// outputFile is its output, if numbers are read from that.
	outputFile = "output"
	// itemsFile are its results item by item.
	itemsFile = "items.json"
	// maxFile and maxFiles limit a program's files: larger ones are named but not kept.
	maxFile  = 256 << 20
	maxFiles = 1000
)

// keepFiles makes the program's log and its files artifacts, redacted.
func (e *exec) keepFiles(q *qualification, l engine.Launch, out string) error {
	log, err := os.ReadFile(l.LogPath)
	if err == nil {
		err = q.keep("log", log)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kept := 0
	return filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if kept++; kept > maxFiles || info.Size() > maxFile {
			q.Record.Notes = append(q.Record.Notes, verdict.Say("exec.file_too_large",
				"level {subject} left {file} ({mib} MiB), which is not kept: at most {most} files of up to 256 "+
					"MiB are",
				verdict.Text("file", name), verdict.Int("mib", int(info.Size()>>20)), verdict.Int("most", maxFiles)).On(q.level.Level()))
			return nil
		}
		if err := redact.File(path, q.Lab.Redact); err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return q.keep(filesFolder+filepath.ToSlash(name), content)
	})
}

// reading reports whether numbers are read from the program.
func (e *exec) reading() bool { return len(e.reads.Metrics) > 0 || e.items != "" }

// readNumbers reads the level's numbers from an output, and pairs its items with the
// parent's, which it returns. What was read before an error counts.
func (e *exec) readNumbers(ctx context.Context, of *evidence, text []byte) ([]verdict.Reason, error) {
	values, err := e.reads.Values(ctx, text)
	if err != nil {
		return nil, err
	}
	for _, m := range e.reads.Prints() {
		of.Number(m.Called(), values[m.Address()]...)
	}
	if e.items == "" {
		return nil, nil
	}
	items, err := e.reads.Items(ctx, e.items, text)
	if err != nil {
		return nil, err
	}
	if of.derived[itemsFile], err = json.Marshal(items); err != nil {
		return nil, err
	}
	if len(of.against) == 0 || of.against[0].Left[of.block.Level()+"/"+itemsFile] == "" {
		return nil, nil // the baseline has none to compare with
	}
	before, err := of.store.Get(of.against[0].Left[of.block.Level()+"/"+itemsFile])
	if err != nil {
		return nil, err
	}
	parent := map[string]bool{}
	if err := json.Unmarshal(before, &parent); err != nil {
		return nil, err
	}
	lost, gained, alone := 0, 0, 0
	for id, right := range items {
		was, both := parent[id]
		switch {
		case !both:
			alone++
		case was && !right:
			lost++
		case right && !was:
			gained++
		}
	}
	if alone > 0 || len(parent) != len(items) {
		return nil, fmt.Errorf("%d of its %d items are not among the %d of the parent, so the two cannot be paired: give every variant the same items", alone, len(items), len(parent))
	}
	p := stats.PairedLoss(lost, gained)
	of.Number("lost", float64(lost))
	of.Number("gained", float64(gained))
	of.Number("lost_p", p)
	return verdict.Because(code.Of("exec.items_paired",
		"{items} items: {lost} lost, {gained} gained against the parent (p {p})"),
		verdict.Int("items", len(items)), verdict.Int("lost", lost), verdict.Int("gained", gained), verdict.Num("p", p, "")), nil
}
