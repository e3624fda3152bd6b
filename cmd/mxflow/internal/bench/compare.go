package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/ab"
)

// Two results of single starts, side by side. Neither shows how much two starts of one
// server differ, so nothing here is a verdict: --compare shows the numbers, marks what is
// not alike, and names what would decide.

// earlierResult is the file of --compare.
type earlierResult struct {
	file string
	// One of these is set: a result of mxflow bench, or of another tool.
	result  *Result
	foreign *imported.File
}

// readEarlier reads a result: mxflow's own JSON, or another tool's file.
func readEarlier(path string) (*earlierResult, error) {
	e := &earlierResult{file: path}
	data, err := files.ReadResult(path, imported.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	var r Result
	if json.Unmarshal(data, &r) == nil && strings.HasPrefix(r.Tool, "mxflow ") {
		if err := r.Whole(); err != nil {
			return nil, fmt.Errorf("--compare: %s: %w", path, err)
		}
		e.result = &r
		return e, nil
	}
	if e.foreign, err = imported.Read(path, data); err != nil {
		return nil, fmt.Errorf("--compare: neither a result of mxflow bench --format json nor of a tool that mxflow import knows: %w", err)
	}
	return e, nil
}

// compareFiles compares two files if the argument is one and not a URL; done reports
// whether it was.
func (b *Request) compareFiles(h Host) (done bool, err error) {
	if b.compare == "" {
		return false, nil
	}
	if !slices.Contains([]string{"", "md"}, b.format) && b.out == "" {
		return true, b.wrong("compare", "it prints text, which cannot be combined with %s: write that to a file with --out FILE", b.format)
	}
	if b.earlier, err = readEarlier(b.compare); err != nil {
		return true, err
	}
	if info, err := os.Stat(b.url); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	now, err := readEarlier(b.url)
	if err != nil {
		return true, err
	}
	if now.result == nil {
		return true, b.wrong("compare", "%s is from another tool: give the URL of a server, or a result of mxflow bench, and compare that with %s", b.url, b.url)
	}
	return true, b.compareWith(h, now.result)
}

// comparable rejects a comparison that no measurement could make possible, before
// measuring.
func (b *Request) comparable() error {
	if b.earlier == nil || b.earlier.result == nil {
		return nil
	}
	w, err := b.workload(0)
	if err != nil {
		return err
	}
	planned := &Result{Dataset: b.sent()}
	for _, c := range w.Cells() {
		planned.Cells = append(planned.Cells, Cell{Label: c.Label})
	}
	if why := notComparable(b.earlier.result, planned); why != "" {
		return b.wrong("compare", "nothing was measured, because %s and this could not be compared: %s", b.compare, why)
	}
	return nil
}

// compareWith prints a result beside the earlier one; nothing if none was requested.
func (b *Request) compareWith(h Host, now *Result) error {
	switch {
	case b.earlier == nil || len(now.Cells) == 0:
		return nil
	case b.earlier.foreign != nil:
		h.besideForeign(b.earlier, now)
		return nil
	}
	then := b.earlier.result
	if why := notComparable(then, now); why != "" {
		b.exit = max(b.exit, verdict.ExitUsage)
		return fmt.Errorf("--compare: %s and this cannot be compared: %s", b.compare, why)
	}
	fmt.Fprintf(h.On, "\ncompared with %s: %s at %s (%s), %s, %s\n\n", b.compare, imported.Printable(then.Model), imported.Printable(then.URL),
		imported.Printable(then.Engine), then.Started.UTC().Format("2006-01-02 15:04 MST"), imported.Printable(then.Tool))
	h.On.Table([]string{"cell", "metric", "then", "now", "now / then"}, ratios(then, now))
	h.On.Sentences("differences", unlike(then, now))
	h.On.Sentences("what this shows", h.whatItShows(then, now))
	return nil
}

// notComparable is why two results have nothing in common.
func notComparable(then, now *Result) string {
	switch {
	case len(then.Invalid) > 0:
		return "the earlier measurement does not count: " + tell.Line(then.Invalid[0])
	case len(now.Invalid) > 0:
		return "this measurement does not count: " + tell.Line(now.Invalid[0])
	case (then.Dataset == nil) != (now.Dataset == nil):
		return "one sent rows of a dataset, the other generated prompts"
	case then.Dataset != nil && then.Dataset.Digest != now.Dataset.Digest:
		return fmt.Sprintf("they sent two datasets, %s and %s", then.Dataset.File, now.Dataset.File)
	}
	if len(shared(then, now)) == 0 {
		return fmt.Sprintf("no cell is in both: %s then, %s now. Measure with the same --pp, --tg, --depth and --concurrency", labels(then.Cells), labels(now.Cells))
	}
	return ""
}

func labels(cells []Cell) string {
	return strings.Join(plans.Names(cells, func(c Cell) string { return c.Label }), ", ")
}

// shared are the cells of both, as pairs of then and now.
func shared(then, now *Result) (pairs [][2]Cell) {
	for _, c := range now.Cells {
		for _, d := range then.Cells {
			if c.Label == d.Label {
				pairs = append(pairs, [2]Cell{d, c})
			}
		}
	}
	return pairs
}

// startNoise is how much fresh starts of one variant differ, by the records in this
// folder.
type startNoise struct {
	// sd is the pooled standard deviation of the logs.
	sd, df   float64
	launches int
}

// apart is how far apart two starts of one server are at most, in 19 of 20 cases, as a
// share.
func (n startNoise) apart() float64 {
	return math.Expm1(stats.Quantile(0.025, n.df) * math.Sqrt2 * n.sd)
}

// noiseOfStarts pools launches over sessions and variants that sent the same cell.
// Variants of one session share a machine and a boot, but not a mean.
func (h Host) noiseOfStarts(cell Cell) (n startNoise, ok bool) {
	dirs := []string{store.DirName}
	if h.State != "" {
		dirs = []string{h.State}
	} else if more, err := filepath.Glob(filepath.Join(ab.Folder, "*", store.DirName)); err == nil {
		dirs = append(dirs, more...)
	}
	var groups [][]float64
	for _, dir := range dirs {
		st, err := store.OpenReadOnly(dir)
		if err != nil {
			continue // there is none, or none readable
		}
		alike := map[string][]float64{}
		for _, l := range st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark, OK: true}) {
			if v, sent := sentLike(l, cell); sent && len(l.Invalid) == 0 {
				alike[l.Session+" "+l.VariantKey] = append(alike[l.Session+" "+l.VariantKey], v)
			}
		}
		st.Close()
		for _, key := range slices.Sorted(maps.Keys(alike)) {
			if g := alike[key]; len(g) > 1 {
				groups, n.launches = append(groups, g), n.launches+len(g)
			}
		}
	}
	n.sd, n.df = stats.Pool(groups)
	return n, n.df >= 2 && n.sd > 0
}

// sentLike is the decode speed of a launch that sent the cell.
func sentLike(l *ledger.Launch, cell Cell) (float64, bool) {
	for _, run := range l.Cells {
		if run.Prompt != cell.Prompt || run.Output != cell.Output || run.Depth != cell.Depth || run.Concurrency != cell.Concurrency || run.Rate != cell.Rate {
			continue
		}
		if v := l.Metrics[run.Cell+".tg"].Stats["median"]; v > 0 {
			return v, true
		}
	}
	return 0, false
}

// comparedMetrics are shown if both results have them.
var comparedMetrics = []string{"tg", "pp", "ttft", "tpot", "e2e", "tg_total", "pp_total", "requests_per_s", "goodput", "power_w", "joules_per_token", "gpu_memory_in_use_gb"}

// ratios are the rows of the table. They do not say which way is better: that would be a
// verdict, and single starts allow none.
func ratios(then, now *Result) (rows [][]string) {
	for _, pair := range shared(then, now) {
		cell := pair[1].Label
		for _, name := range comparedMetrics {
			x, y := pair[0].Metrics[name], pair[1].Metrics[name]
			if x == nil || y == nil || pair[1].Concurrency < 2 && pair[1].Rate == 0 && strings.HasSuffix(name, "_total") {
				continue
			}
			ratio := "–"
			switch {
			case x.Unit != y.Unit || name == "goodput" && fmt.Sprint(then.SLO) != fmt.Sprint(now.SLO):
				ratio = "not comparable"
			case x.Mean > 0 && y.Mean > 0:
				ratio = strconv.FormatFloat(y.Mean/x.Mean, 'f', 3, 64) + "×"
			}
			rows = append(rows, []string{cell, imported.Printable(name + " " + y.Unit), spread(x), spread(y), ratio})
			cell = ""
		}
	}
	return rows
}

// unlike are the differences between the two measurements, as far as the files show.
func unlike(then, now *Result) (list []string) {
	differ := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %s then, %s now", what, x, y))
		}
	}
	differ("the model", then.Model, now.Model)
	differ("the kind of server", then.Engine, now.Engine)
	differ("the address", then.URL, now.URL)
	differ("the tool", then.Tool, now.Tool)
	differ("the latency mode", then.Correction+" (the uncorrected numbers are compared)", now.Correction+" (the uncorrected numbers are compared)")
	differ("how answers were checked", cmp.Or(then.Coherence, "absolute"), cmp.Or(now.Coherence, "absolute"))
	differ("the prompts", fmt.Sprintf("those of --seed %d", then.Seed), fmt.Sprintf("those of --seed %d", now.Seed))
	differ("runs", fmt.Sprint(then.Runs), fmt.Sprint(now.Runs))
	for _, pair := range shared(then, now) {
		x, y := pair[0], pair[1]
		differ("how prompts of "+y.Label+" got their length", string(x.Prompts.Method), string(y.Prompts.Method))
		for _, tokens := range []string{"prompt_tokens", "output_tokens"} {
			m, n := x.Metrics[tokens], y.Metrics[tokens]
			if m != nil && n != nil && math.Abs(m.Mean-n.Mean) > 0.01*math.Max(m.Mean, n.Mean) {
				list = append(list, fmt.Sprintf("%s of %s: %s then, %s now: it was not the same work", strings.ReplaceAll(tokens, "_", " "), y.Label, tell.Number(m.Mean, ""), tell.Number(n.Mean, "")))
			}
		}
		if m, n := x.Metrics["tg"], y.Metrics["tg"]; m != nil && n != nil && len(m.N) > 0 && len(n.N) > 0 && m.N[0] != n.N[0] {
			list = append(list, fmt.Sprintf("requests per run of %s: %d then, %d now", y.Label, m.N[0], n.N[0]))
		}
	}
	for _, c := range now.Cells {
		if !hasCell(then, c.Label) {
			list = append(list, c.Label+" was measured only now")
		}
	}
	for _, c := range then.Cells {
		if !hasCell(now, c.Label) {
			list = append(list, c.Label+" was measured only then")
		}
	}
	return append(list, "neither result records machine, driver, packages or server flags: they may differ")
}

func hasCell(r *Result, label string) bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Label == label })
}

// whatItShows is what two single starts show, and what not.
func (h Host) whatItShows(then, now *Result) []string {
	starts := "One start of a server then and one now."
	if then.URL == now.URL {
		starts = "One start of a server then and one now, or even the same start: the address is the same."
	}
	lines := []string{starts + " ± is between runs of one start, and two starts of the same server differ by more: a ratio here is not a verdict, however far from 1."}
	cell := shared(then, now)[0][1]
	if n, ok := h.noiseOfStarts(cell); ok {
		lines = append(lines, fmt.Sprintf("Launches on record here vary by %s in tg of %s (%d launches, %d degrees of freedom): two starts of the same server are up to %s apart in 19 of 20 cases.",
			tell.Number(n.sd, "spread"), cell.Label, n.launches, int(n.df), tell.Number(n.apart(), "spread")))
	} else {
		lines = append(lines, "Nothing on record here shows how far apart two starts of the same server are.")
	}
	decide := fmt.Sprintf("To decide: mxflow ab --a 'command then' --b 'command now' --pp %d --tg %d", cell.Prompt, cell.Output)
	if cell.Depth > 0 {
		decide += fmt.Sprintf(" --depth %d", cell.Depth)
	}
	if cell.Concurrency > 1 {
		decide += fmt.Sprintf(" --concurrency %d", cell.Concurrency)
	}
	return append(lines, decide)
}

// besideForeign prints another tool's numbers below mxflow's, without ratios: two tools
// may mean different things by one name.
func (h Host) besideForeign(e *earlierResult, now *Result) {
	f := e.foreign
	fmt.Fprintf(h.On, "\nbeside %s\n", imported.Printable(e.file+": "+strings.TrimSpace(strings.Join([]string{f.Tool, f.Version, f.Model, f.Date}, " "))))
	var rows [][]string
	for _, c := range f.Cells {
		cell := imported.Printable(c.Name)
		for _, m := range c.Metrics {
			for _, stat := range []string{"mean", "median", "value"} {
				if v, ok := m.Stats[stat]; ok {
					rows = append(rows, []string{cell, imported.Printable(m.Name + " " + m.Unit), stat, tell.Number(v, "")})
					cell = ""
					break
				}
			}
		}
	}
	fmt.Fprintln(h.On)
	h.On.Table([]string{"its cell", "its metric", "statistic", "value"}, rows)
	lines := []string{
		"Two tools can measure the same name differently, and each saw one start of a server. So there is no ratio of their numbers.",
		"Its definitions: mxflow import " + shell.Quote(e.file) + " --definitions",
	}
	if len(now.Cells) > 0 {
		lines = append(lines, fmt.Sprintf("To decide between two servers: mxflow ab --a 'one command' --b 'the other' --pp %d --tg %d", now.Cells[0].Prompt, now.Cells[0].Output))
	}
	h.On.Sentences("what this shows", lines)
}
