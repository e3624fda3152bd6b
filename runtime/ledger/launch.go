package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Launch is one start of a variant, the unit of replication. Decisions refer to
// launches by ID and never own them.
type Launch struct {
	ID string `json:"id"`
	// Session groups launches that were interleaved with each other.
	Session string `json:"session"`
	// Purpose is ForQualification, ForReference, ForBenchmark or ForStep.
	Purpose string `json:"purpose"`
	// Node is the graph node that asked for the launch.
	Node string `json:"node"`
	// Variant names the arm for people: "baseline", "kv_cache".
	Variant string `json:"variant"`
	// VariantKey is the measurement key of the arm.
	VariantKey string `json:"variant_key"`
	// Block is the plan's engine, "kind.name", and Knobs the value of every knob:
	// what was started in the plan's words.
	Block string            `json:"block,omitempty"`
	Knobs map[string]string `json:"knobs,omitempty"`
	// Ordinal counts the launches of this variant in this session, from 1.
	Ordinal int `json:"ordinal"`
	// Order is the launch's place in the session's interleaved order, from 1.
	Order int `json:"order"`
	// BootID is the boot of this machine; empty with other machines, whose Place has one.
	BootID string `json:"boot_id,omitempty"`
	// Place is where it stood of what an executor shares out; nil without one.
	Place   *Place    `json:"place,omitempty"`
	Started time.Time `json:"started"`
	// Seconds is the wall time from process start to stop.
	Seconds float64 `json:"seconds"`
	// OK is false when the engine broke; Error then says how.
	OK      bool           `json:"ok"`
	Error   verdict.Reason `json:"error,omitzero"`
	LogTail []string       `json:"log_tail,omitempty"`
	Exit    *int           `json:"exit,omitempty"`
	// Metrics maps an address without its statistic ("chat.tg",
	// "engine.startup_s") to the launch's statistics.
	Metrics map[string]measure.Summary `json:"metrics,omitempty"`
	// Incoherent lists answers that do not read as text, and why, so that
	// garbage cannot count as speed.
	Incoherent []verdict.Reason `json:"incoherent,omitempty"`
	// Notes say what was noticed and does not end the launch: an output that
	// was shorter than asked for, a fallback for token counts.
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Invalid are the causes for which what the launch measured does not count: a
	// throttled or shared GPU, a client that could not keep up, an engine that
	// never reached the concurrency that was asked for.
	Invalid []verdict.Reason `json:"invalid,omitempty"`
	// Disturbed says that these causes lie in the machine and not in the engine, so
	// that another launch may be in this one's place.
	Disturbed bool `json:"disturbed,omitempty"`
	// Cells are what was sent and when, which Samples and Series are evaluated by.
	Cells []measure.CellRun `json:"cells,omitempty"`
	// Windows are when a command worked, which Series are evaluated by.
	Windows []measure.Window `json:"windows,omitempty"`
	// Client is how far the measuring client was off when it measured itself.
	Client *measure.Calibration `json:"client,omitempty"`
	// Samples, Series and Log are sha256 digests of artifacts: raw samples and what
	// was sampled beside them as Parquet, the engine's log.
	Samples string `json:"samples,omitempty"`
	Series  string `json:"series,omitempty"`
	Log     string `json:"log,omitempty"`
	// Output is the digest of the JSON that an engine of kind command printed,
	// Prompts that of the texts that are sent where several engines share them, also in the
	// record of the qualification in which they were made.
	Output  string `json:"output,omitempty"`
	Prompts string `json:"prompts,omitempty"`
	// Left are the digests of what levels left behind, by path, which starts with the
	// level's name.
	Left map[string]string `json:"left,omitempty"`
	// Asked is how many lines the log had when the first request went out: what stands
	// up to there was configured, not used. Nil where nothing was asked of it.
	Asked *int `json:"asked,omitempty"`
	// Draw is what the texts of this launch alone were drawn from.
	Draw Draw `json:"draw,omitzero"`
	// Body is the seed of the first launch of its round, from which the texts that all
	// arms share are drawn where the workload asks for that.
	Body string `json:"body,omitempty"`
	// Looks are what a parent answered when it was asked, after it was measured, some of
	// what the launches before it had been asked.
	Looks []Look `json:"looks,omitempty"`
	// Engine is what was started: command line, env that was set, versions.
	// Its key "kind" is the kind of engine, which estimates go by.
	Engine map[string]string `json:"engine,omitempty"`
	// Observed is what the engine said of itself, by the observation's name.
	Observed map[string]Observed `json:"observed,omitempty"`
	// Unobserved says why other things that were looked for are not known.
	Unobserved map[string]verdict.Reason `json:"unobserved,omitempty"`
	// Fingerprint is the environment of the launch as far as numbers depend on
	// it, and Metadata the digest of the YAML file with all that was found out.
	Fingerprint map[string]string `json:"fingerprint,omitempty"`
	Metadata    string            `json:"metadata,omitempty"`
	// Trees are the source trees that the engine ran from, by name.
	Trees map[string]Tree `json:"trees,omitempty"`
	// Work is the digest of what was sent, by which way of measuring and on which
	// machine: launches of one variant with one work may be compared.
	Work string `json:"work,omitempty"`
	// Replaces is the launch in whose place this one stands, which broke or did not
	// count for a cause that is recorded there.
	Replaces string `json:"replaces,omitempty"`
}

// Place is a host, or a part of one, on which launches stand: those of one round stand on
// one.
type Place struct {
	// Name is by which people know it: "gpu 0", "gpu 2,3", "slot 1".
	Name string `json:"name"`
	// GPUs are its UUIDs, and CPUs the numbers of the CPUs that are its own; none where
	// launches on it use all.
	GPUs []string `json:"gpus,omitempty"`
	CPUs []int    `json:"cpus,omitempty"`
	// Host is the machine that it is on, and Boot that machine's boot, where an executor
	// launches on others; empty on this one.
	Host string `json:"host,omitempty"`
	Boot string `json:"boot,omitempty"`
}

// Same reports whether two places are one, booted once; no place is wherever the other is.
func (p *Place) Same(o *Place) bool {
	return p == nil || o == nil || p.Name == o.Name && p.Boot == o.Boot
}

// On is the name of the place where the launch stood; empty where there was one alone.
func (l *Launch) On() string {
	if l.Place == nil {
		return ""
	}
	return l.Place.Name
}

// Own are the CPUs of a place, none of no place.
func (p *Place) Own() []int {
	if p == nil {
		return nil
	}
	return p.CPUs
}

// Configured reports whether a line of the log was there before anything was asked.
func (l *Launch) Configured(line int) bool { return line > 0 && l.Asked != nil && line <= *l.Asked }

// Observed is one thing that an engine said of itself.
type Observed struct {
	// Value is a string, a float64 or a bool.
	Value any    `json:"value"`
	Unit  string `json:"unit,omitempty"`
	// From says where it was seen: "log line 12", "GET /version", "metric x".
	From string `json:"from,omitempty"`
	// Line is the line of the log that says so, cut to 300 bytes unless Whole. The value
	// is in it from At to To; both are 0 where that is not known.
	Line  string `json:"line,omitempty"`
	At    int    `json:"at,omitempty"`
	To    int    `json:"to,omitempty"`
	Whole bool   `json:"whole,omitempty"`
	// Configured says that the line was logged before the first request and repeats
	// what was asked for.
	Configured bool `json:"configured,omitempty"`
}

// Tree is the state of a source tree at a launch.
type Tree struct {
	Path string `json:"path"`
	// Commit is the revision checked out, Diff the digest of the artifact with
	// all that differs from it, empty where the tree is clean.
	Commit string `json:"commit,omitempty"`
	Diff   string `json:"diff,omitempty"`
	// Hash covers every file of the tree that git knows or does not ignore.
	Hash string `json:"hash,omitempty"`
}

// String is the value as messages and tables show it: words in quotes, a number
// with its unit.
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

// SaidBy lists the values that launches have of one observation.
func SaidBy(launches []*Launch, name string) string {
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

// Numbers are the numbers by which people are told of a session's launches, by ID,
// from 1 in the order of the starts. A launch that is made again for one that does
// not count keeps its number, so that "launch 5 of 16" is the same in the progress
// and in all that is said of it later; Order counts every start.
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

// Garbage is what does not read as text of answers that should.
func (l *Launch) Garbage() (found []verdict.Reason) {
	for _, r := range l.Incoherent {
		if !slices.ContainsFunc(l.Cells, func(c measure.CellRun) bool { return c.Cell == r.Subject && c.Unread }) {
			found = append(found, r)
		}
	}
	return found
}

// Unread says whether answers of it are declared to be no text, so that nobody checked them.
func (l *Launch) Unread() bool {
	return slices.ContainsFunc(l.Cells, func(c measure.CellRun) bool { return c.Unread })
}

// Counts says whether a launch by itself has numbers that mean something.
func (l *Launch) Counts() bool { return l.OK && len(l.Invalid) == 0 && len(l.Garbage()) == 0 }

// Crashed reports whether the engine ended the launch by itself, also before it was
// ready.
func (l *Launch) Crashed() bool { return !l.OK && l.Exit != nil }

// Look is one answer that a parent was asked for again.
type Look struct {
	// Launch was asked first, as request Request of Cell.
	Launch  string `json:"launch"`
	Cell    string `json:"cell"`
	Request int    `json:"request"`
	// At is how many bytes of that answer were given with the prompt. Was and Is are the
	// beginnings of what both said from there on (engine/load/work).
	At  int    `json:"at,omitempty"`
	Was string `json:"was"`
	Is  string `json:"is"`
	// Took is how long the whole of that answer took for each of its tokens, ms.
	Took float64 `json:"took_ms,omitempty"`
	// Prompt and Answer are the tokens of that request, as its engine billed them and as
	// the parent's tokenizer counts the text.
	Prompt Recount `json:"prompt,omitzero"`
	Answer Recount `json:"answer,omitzero"`
}

// Recount is the tokens of one text: billed by the engine that was asked, and counted
// again by its parent's tokenizer. Both are 0 where the second is not known.
type Recount struct {
	Billed  int `json:"billed"`
	Counted int `json:"counted"`
}
