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
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/levels/quality"
	"github.com/mxflow/mxflow/steps/variant"
	"github.com/mxflow/mxflow/steps/work/program"
)

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
		Label: "Its name in rules and reports: `levels.<name>`.",
		Doc: "Runs your own program against the engine in the qualification launch. Exit status 0 passes, any " +
			"other status or the time limit fails, and a program that cannot be started is an error. The engine is " +
			"given in `$MXFLOW_URL`, `$MXFLOW_MODEL`, `$MXFLOW_API_KEY` and `$MXFLOW_LOG`, the variant in " +
			"`$MXFLOW_VARIANT` and `$MXFLOW_KNOBS` (JSON). Files written to `$MXFLOW_OUT` become artifacts; those of " +
			"the parent's run are in `$MXFLOW_PARENT_OUT`.",
		Example: plans.Example(examples, `level "exec" "accuracy" {`),
		Attrs:   plans.Attrs(exec{}),
		Parts: variant.ProgramParts(
			"Its name in rules: `levels.<level>.<name>`, with `.base`, `.delta` and `.change`."),
		Check: program.CheckCommand,
		Finds: func(b *plans.Block) []plans.LevelResult {
			if b.Attrs["eval"] == nil {
				return program.Finds(b)
			}
			return append(program.Finds(b), quality.EvalFinds...)
		},
	},
	make: func(b *plans.Block) (level, error) {
		e := &exec{}
		if err := b.Decode(e); err != nil {
			return nil, err
		}
		reads, err := variant.DecodeOutput(b.Parts)
		e.reads = reads
		return e, err
	},
}

// exec is a level that runs the user's program.
type exec struct {
	Command []string          `hcl:"command" doc:"The program and its arguments; no shell is involved. Use [\"sh\", \"-c\", \"…\"] for one."`
	Dir     string            `hcl:"dir,optional" default:"." doc:"Working directory, relative to the plan's folder."`
	Env     map[string]string `hcl:"env,optional" doc:"Set on top of the inherited environment."`
	Timeout plans.Dur         `hcl:"timeout,optional" default:"30m" doc:"Time limit. Then the program is stopped and the level fails."`

	Eval    string  `hcl:"eval,optional" doc:"Samples of lm-evaluation-harness, such as \"*samples_*.jsonl\". The files are below $MXFLOW_OUT, written with --log_samples; * is any text. They are compared with the parent's as in a level eval: a variant that loses answers is measured all the same."`
	Filter  string  `hcl:"filter,optional" doc:"With eval: the filter that counts, such as \"flexible-extract\". By default it is that of each document's first row."`
	MaxDrop float64 `hcl:"max_drop,optional" unit:"points" min:"0.1" max:"50" doc:"With eval: points of accuracy that may be lost. By default 2."`

	reads *variant.Command
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
	var err error
	left := "" // the folder of what the program left for the parent
	if q.parent.Qualified != nil {
		n, err := restore(q.Lab.Store, q.parent.Qualified, name+"/"+filesFolder, parent)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			left = parent
		}
	}
	knobs := []byte("{}")
	if q.variant.Knobs != nil {
		if knobs, err = json.Marshal(q.variant.Knobs); err != nil {
			return nil, err
		}
	}
	model := q.Client.Model
	if model == "" {
		models, err := q.Client.Models(ctx)
		if err != nil {
			return nil, err
		}
		model = models[0].ID
	}
	access := q.Inst.Access()
	key, _ := strings.CutPrefix(access.Header.Get("Authorization"), "Bearer ")
	env := map[string]string{
		envURL: access.BaseURL, envModel: model, envAPIKey: key, envLog: q.Inst.LogPath(), program.OutVariable: out,
		envParentOut: left,
		envVariant:   q.variant.Name, envKnobs: string(knobs),
	}
	maps.Copy(env, e.Env) // the plan's values come last
	run, err := run.StartCommand(engine.Spec{
		Command: e.Command, Dir: q.Lab.Variants.Plan.Path(e.Dir), Env: env,
		StopGrace: stopGrace,
	}, l)
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
		return nil,
			&verdict.Fault{Reason: verdict.New(code.EngineEnded,
				verdict.Text("exit", cmp.Or(q.Inst.Exit(), &engine.Exit{Code: -1}).String()))}
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
		for _, line := range slices.Backward(ended.LogTail) {
			if line = strings.TrimSpace(line); line != "" {
				a.Why = append(a.Why,
					verdict.Say("exec.last_words", "its last output: {line}", verdict.Text("line", line)))
				break
			}
		}
		return a, nil
	}
	if len(e.reads.Metrics) > 0 { // what numbers are read from is kept: an output, or a file
		path := l.OutPath
		if e.reads.File != "" {
			path = filepath.Join(out, e.reads.File)
		}
		text, err := variant.ReadOutput(path)
		if err == nil && e.reads.File == "" {
			err = q.keep(outputFile, text)
		}
		if err != nil {
			a.Ended, a.Why = verdict.Error, verdict.Because(code.NumbersUnread, verdict.Line(err))
		}
	}
	return a, nil
}

// judge reads the numbers of a program that passed.
func (e *exec) judge(ctx context.Context, of *evidence) (verdict.Verdict, []verdict.Reason, error) {
	v, reasons := of.Ended, slices.Clone(of.Why)
	if e.Eval != "" && v == verdict.Pass {
		var err error
		if v, reasons, err = e.compareSamples(of); err != nil {
			return verdict.Error, verdict.Because(code.NumbersUnread, verdict.Line(err)), nil
		}
	}
	if of.Ended != verdict.Pass || len(e.reads.Metrics) == 0 {
		return v, reasons, nil
	}
	path := outputFile
	if e.reads.File != "" {
		path = filesFolder + filepath.ToSlash(e.reads.File)
	}
	text, err := of.readFile(path)
	if err != nil {
		return "", nil, err
	}
	values, err := e.reads.Values(ctx, text)
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case err != nil:
		return verdict.Error, verdict.Because(code.NumbersUnread, verdict.Line(err)), nil
	}
	for _, m := range e.reads.CommandMetrics() {
		of.Number(m.Name, values[m.Address()]...)
		reasons = append(reasons,
			program.NumberReason(of.numbers[plans.LevelAddress(of.block.Level(), m.Name)], m.Name))
	}
	return v, reasons, nil
}

// compareSamples compares the graded documents that the program left with those of the
// parent's run.
func (e *exec) compareSamples(of *evidence) (verdict.Verdict, []verdict.Reason, error) {
	if len(of.against) == 0 && of.launch.Node == runtime.QualifyID(of.launch.Variant) {
		return verdict.Invalid, verdict.Because(code.Of("eval.parent_without",
			"the parent's protocol has no such level, so there are no samples to compare with: give both the same "+
				"protocol")), nil
	}
	glob, err := logscan.ParseGlob(e.Eval)
	var all []*quality.Documents
	for _, l := range append([]*ledger.Launch{of.launch}, of.against...) {
		files := map[string][]byte{}
		for path, sum := range sorted.All(l.Left) {
			name, own := strings.CutPrefix(path, of.block.Level()+"/"+filesFolder)
			if err == nil && own && glob.Match(name) {
				files[name], err = of.store.Get(sum)
			}
		}
		if err != nil {
			return "", nil, err
		}
		graded, err := quality.Samples(files, e.Filter)
		if err != nil {
			return "", nil, fmt.Errorf("launch %s: %w", l.ID, err)
		}
		all = append(all, graded)
	}
	mine, theirs := all[0], all[len(all)-1]
	own, parent, err := quality.Together(mine.Right, theirs.Right)
	if err != nil {
		return "", nil, err
	}
	most := cmp.Or(e.MaxDrop, quality.UsualDrop)
	v, reasons, err := of.judgeAccuracy(own, [][]bool{parent}, most)
	if len(mine.Empty)+len(theirs.Empty) > 0 && !of.itself() && err == nil {
		// What a request that failed cost is no loss of the engine, and what an engine that ended
		// at once lost is.
		own, parent = nil, nil
		for key, right := range sorted.All(mine.Right) {
			if !mine.Empty[key] && !theirs.Empty[key] {
				own, parent = append(own, right), append(parent, theirs.Right[key])
			}
		}
		without := verdict.Inconclusive
		if len(own) > 0 {
			without, _, _ = quality.JudgeEval(own, [][]bool{parent}, most, "")
		}
		if without != v {
			v = verdict.Inconclusive
		}
		reasons = append(reasons, verdict.Say("eval.empty",
			"{own|answer has|answers have} no text, and {parent} of the parent: an engine that ends at once leaves "+
				"that, and so does a request "+
				"of the harness that failed, which its log tells; without these documents, {without}",
			verdict.Int("own", len(mine.Empty)), verdict.Int("parent", len(theirs.Empty)),
			verdict.Text("without", string(without))))
	}
	scores := theirs.Scores
	if len(scores) > 1 && v != verdict.Pass && err == nil {
		var read, each []string
		for filter, s := range sorted.All(scores) {
			each = append(each, fmt.Sprintf("%s %.1f%%", filter, 100*float64(s[0])/float64(s[1])))
			if s[2] > 0 {
				read = append(read, filter)
			}
		}
		reasons = append(reasons, verdict.Say("eval.filters",
			"the answers of the filter {read} were read; of the parent, right by filter: {each}; filter = \"…\" "+
				"beside eval names another",
			verdict.Text("read", strings.Join(read, ", ")), verdict.Text("each", strings.Join(each, ", "))))
	}
	return v, reasons, err
}

// stopGrace is how long a program may take to stop.
const stopGrace = 10 * time.Second

const (
	// filesFolder is the path of the program's files among the level's artifacts.
	filesFolder = "files/"
	// outputFile is its output, if numbers are read from that.
	outputFile = "output"
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
				verdict.Text("file", name), verdict.Int("mib", int(info.Size()>>20)),
				verdict.Int("most", maxFiles)).On(q.level.Level()))
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
