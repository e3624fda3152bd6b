package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Launch is one start of a variant, the unit of replication. Decisions refer to launches
// by ID and never own them.
type Launch struct {
	ID string `json:"id"`
	// Session groups launches that were interleaved with each other.
	Session string `json:"session"`
	// Purpose is ForQualification, ForReference, ForBenchmark, ForAgreement or ForStep.
	Purpose string `json:"purpose"`
	// Node is the graph node that asked for the launch.
	Node string `json:"node"`
	// Qualifies identifies the qualification that it was made for, and Levels are those
	// that ran in it: if an apply is killed before they were decided, the next one
	// resumes with them.
	Qualifies string  `json:"qualifies,omitempty"`
	Levels    []Level `json:"levels,omitempty"`
	// Variant names the arm for people: "baseline", "kv_cache".
	Variant    string `json:"variant"`
	VariantKey string `json:"variant_key"`
	// Block is the plan's engine, "kind.name", and Knobs the value of every knob: what
	// was started, in the plan's terms.
	Block string            `json:"block,omitempty"`
	Knobs map[string]string `json:"knobs,omitempty"`
	// Ordinal counts the launches of this variant in this session, from 1.
	Ordinal int `json:"ordinal"`
	// Order is the launch's place in the session's interleaved order, from 1.
	Order int `json:"order"`
	// BootID is the boot of this machine; empty for other machines, whose Place has one.
	BootID string `json:"boot_id,omitempty"`
	// Place is where it ran among an executor's places; nil without one.
	Place   *Place    `json:"place,omitempty"`
	Started time.Time `json:"started"`
	// Seconds is the wall time from process start to stop.
	Seconds float64 `json:"seconds"`
	// OK is false when the engine broke; Error then says how, and Failure as far as it
	// matters to others.
	OK      bool           `json:"ok"`
	Error   verdict.Reason `json:"error,omitzero"`
	Failure Failure        `json:"failure,omitempty"`
	LogTail []string       `json:"log_tail,omitempty"`
	Exit    *int           `json:"exit,omitempty"`
	// Metrics maps an address without its statistic ("chat.tg",
	// "engine.startup_s") to the launch's statistics.
	Metrics map[string]measure.Summary `json:"metrics,omitempty"`
	// Incoherent lists answers that do not read as text, and why, so
	// garbage cannot count as speed.
	Incoherent []verdict.Reason `json:"incoherent,omitempty"`
	// Notes are what was noticed without ending the launch: an output shorter than
	// requested, a fallback for token counts.
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Invalid are the reasons why its measurements do not count: a throttled or shared
	// GPU, a client that could not keep up, an engine that never reached the requested
	// concurrency.
	Invalid []verdict.Reason `json:"invalid,omitempty"`
	// Disturbed is set if these reasons are the machine's and not the engine's, so
	// another launch may replace this one.
	Disturbed bool `json:"disturbed,omitempty"`
	// Cells are what was sent and when, for evaluating Samples and Series.
	Cells []measure.CellRun `json:"cells,omitempty"`
	// Windows are when a command worked, for evaluating Series.
	Windows []measure.Window `json:"windows,omitempty"`
	// Samples, Series and Log are sha256 digests of artifacts: raw samples and telemetry
	// as Parquet, the engine's log.
	Samples string `json:"samples,omitempty"`
	Series  string `json:"series,omitempty"`
	Log     string `json:"log,omitempty"`
	// Output is the digest of the JSON that an engine of kind command printed, Prompts
	// that of the texts sent if several engines share them, also in the record of the
	// qualification that made them.
	Output  string `json:"output,omitempty"`
	Prompts string `json:"prompts,omitempty"`
	// Left are the digests of the levels' artifacts, by path, which starts with the
	// level's name.
	Left map[string]string `json:"left,omitempty"`
	// Asked is the number of log lines when the first request was sent: anything up to
	// there was configured, not used. Nil if no request was sent.
	Asked *int `json:"asked,omitempty"`
	// Draw is the seed of the texts for this launch alone.
	Draw Draw `json:"draw,omitzero"`
	// Body is the seed of the first launch of its round, for texts that all arms share if
	// the workload asks for that.
	Body string `json:"body,omitempty"`
	// Engine is what was started: command line, env that was set, versions. Its key
	// "kind" is the kind of engine, used by estimates.
	Engine map[string]string `json:"engine,omitempty"`
	// Observed is what the engine reported about itself, by the observation's name.
	Observed map[string]Observed `json:"observed,omitempty"`
	// Unobserved is why other observations are unknown.
	Unobserved map[string]verdict.Reason `json:"unobserved,omitempty"`
	// Fingerprint is the part of the launch's environment that numbers depend on, and
	// Metadata the digest of the YAML file with everything collected.
	Fingerprint map[string]string `json:"fingerprint,omitempty"`
	Metadata    string            `json:"metadata,omitempty"`
	// Files is the digest of the list of files that it ran (engine/source).
	Files string `json:"files,omitempty"`
	// Trees are the source trees that the engine ran from, by name.
	Trees map[string]Tree `json:"trees,omitempty"`
	// Work is the digest of what was sent, of the measuring version and the machine:
	// launches of one variant with one work may be compared.
	Work string `json:"work,omitempty"`
	// Replaces is the launch that this one replaces, which broke or did not count for a
	// reason recorded there.
	Replaces string `json:"replaces,omitempty"`
}

// Failure is how a launch broke, as far as others depend on it: it was lost with what made
// it on another machine, or its log shows whose fault it is (kinds.Blame).
type Failure string

const (
	FailureLost    Failure = "lost"
	FailureEngine  Failure = "engine"
	FailurePlan    Failure = "plan"
	failureMachine Failure = "machine"
)

// Place is a host, or a part of one, where launches run: those of one round run on one.
type Place struct {
	// Name is for people: "gpu 0", "gpu 2,3", "slot 1".
	Name string `json:"name"`
	// GPUs are its UUIDs; none if launches on it use all.
	GPUs []string `json:"gpus,omitempty"`
	// Host is its machine, and Boot that machine's boot, if an executor launches on
	// others; empty on this one.
	Host string `json:"host,omitempty"`
	Boot string `json:"boot,omitempty"`
}

// Same reports whether two places are the same, without a reboot in between; a missing
// place equals any.
func (p *Place) Same(o *Place) bool {
	return p == nil || o == nil || p.Name == o.Name && p.Boot == o.Boot
}

// PlaceName is the name of the place where the launch ran; empty if there was only one.
func (l *Launch) PlaceName() string {
	if l.Place == nil {
		return ""
	}
	return l.Place.Name
}

// Configured reports whether a line of the log precedes the first request.
func (l *Launch) Configured(line int) bool { return line > 0 && l.Asked != nil && line <= *l.Asked }

// Observed is one thing that an engine reported about itself.
type Observed struct {
	// Value is a string, a float64 or a bool.
	Value any    `json:"value"`
	Unit  string `json:"unit,omitempty"`
	// From says where it was seen: "log line 12", "GET /version", "metric x".
	From string `json:"from,omitempty"`
	// Line is the log line with it, cut to 300 bytes unless Whole. The value spans At to
	// To in it; both are 0 if unknown.
	Line  string `json:"line,omitempty"`
	At    int    `json:"at,omitempty"`
	To    int    `json:"to,omitempty"`
	Whole bool   `json:"whole,omitempty"`
	// Configured is set if the line was logged before the first request and repeats what
	// was asked for.
	Configured bool `json:"configured,omitempty"`
}

// Tree is the state of a source tree at a launch.
type Tree struct {
	Path string `json:"path"`
	// Commit is the checked out revision, Diff the digest of the artifact with all
	// changes to it, empty if the tree is clean.
	Commit string `json:"commit,omitempty"`
	Diff   string `json:"diff,omitempty"`
	// Hash covers every file of the tree that git knows or does not ignore.
	Hash string `json:"hash,omitempty"`
}

// String is the value as messages and tables show it: words in quotes, a number with its
// unit.
func (o Observed) String() string {
	switch v := o.Value.(type) {
	case nil:
		return "not observed"
	case string:
		return strconv.Quote(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', 6, 64)
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strings.TrimSpace(text + " " + o.Unit)
	}
	return fmt.Sprint(o.Value)
}

func ObservedValues(launches []*Launch, name string) string {
	const most = 4
	text, seen := "", []string{}
	for _, l := range launches {
		value := l.Observed[name].String()
		if slices.Contains(seen, value) {
			continue
		}
		if seen = append(seen, value); len(seen) > most {
			return text + ", …"
		}
		if text != "" {
			text += ", "
		}
		text += value
	}
	return text
}

// Numbers are the numbers under which a session's launches are shown, by ID, from 1 in
// the order of the starts. A launch that replaces one that does not count keeps its
// number, so "launch 5 of 16" is the same in the progress and later; Order counts every
// start.
func Numbers(session []*Launch) map[string]int {
	type place struct {
		variant string
		ordinal int
	}
	sorted := slices.Clone(session)
	slices.SortStableFunc(sorted, func(a, b *Launch) int { return cmp.Compare(a.Order, b.Order) })
	places, out := map[place]int{}, map[string]int{}
	for _, l := range sorted {
		at := place{l.VariantKey, l.Ordinal}
		if places[at] == 0 {
			places[at] = len(places) + 1
		}
		out[l.ID] = places[at]
	}
	return out
}

// Garbage are the findings on answers that should be text and do not read as such.
func (l *Launch) Garbage() (found []verdict.Reason) {
	for _, r := range l.Incoherent {
		if !slices.ContainsFunc(l.Cells, func(c measure.CellRun) bool { return c.Cell == r.Subject && c.Unread }) {
			found = append(found, r)
		}
	}
	return found
}

// AnswersUnchecked reports whether answers are declared not to be text, so nobody checked them.
func (l *Launch) AnswersUnchecked() bool {
	return slices.ContainsFunc(l.Cells, func(c measure.CellRun) bool { return c.Unread })
}

// Counts reports whether a launch by itself has meaningful numbers.
func (l *Launch) Counts() bool { return l.OK && len(l.Invalid) == 0 && len(l.Garbage()) == 0 }

// Crashed reports whether the engine ended the launch by itself, also before it was ready,
// and not for a mistake of the plan or the machine.
func (l *Launch) Crashed() bool { return !l.OK && l.Exit != nil && !l.Excused() }

// Decode is the decode speed that a launch showed, in tok/s: the median of its first cell
// that has one, 0 if none has.
func (l *Launch) Decode() float64 {
	for _, metric := range slices.Sorted(maps.Keys(l.Metrics)) {
		if strings.HasSuffix(metric, ".tg") {
			return l.Metrics[metric].Stats["median"]
		}
	}
	return 0
}

// Excused reports whether what broke it is a mistake of the plan or the machine, which is
// held against no variant.
func (l *Launch) Excused() bool { return l.Failure == FailurePlan || l.Failure == failureMachine }

// Recount is the tokens of one text: billed by the engine that was asked, and counted
// again by its parent's tokenizer. Both are 0 if the second is unknown.
type Recount struct {
	Billed  int `json:"billed"`
	Counted int `json:"counted"`
}
