package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Two results of single starts, side by side. How much two starts of one server
// differ is not in either, so that nothing here is a verdict: --compare shows
// what there is, marks what is not alike, and names what would decide.

// benchEarlier is the file of --compare.
type benchEarlier struct {
	file string
	// Exactly one of these is set: a result of mxflow bench, or of another tool.
	result  *benchResult
	foreign *imported.File
}

// mostResult bounds a result file, in bytes.
const mostResult = 64 << 20

// readEarlier reads a result: mxflow's own JSON, or another tool's file.
func readEarlier(path string) (*benchEarlier, error) {
	e := &benchEarlier{file: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--compare: %s is not there: name what mxflow bench --format json --out FILE wrote", path)
	case err != nil:
		return nil, fmt.Errorf("--compare: %w", err)
	case !info.Mode().IsRegular() || info.Size() > mostResult:
		return nil, fmt.Errorf("--compare: %s is no result file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	var r benchResult
	if json.Unmarshal(data, &r) == nil && strings.HasPrefix(r.Tool, "mxflow ") {
		if err := r.whole(); err != nil {
			return nil, fmt.Errorf("--compare: %s: %w", path, err)
		}
		e.result = &r
		return e, nil
	}
	if e.foreign, err = readImported(path); err != nil {
		return nil, fmt.Errorf("--compare: neither a result of mxflow bench --format json, nor of a tool that mxflow import knows: %w", err)
	}
	return e, nil
}

// whole reports what a result file lacks: it may have been edited, or cut.
func (r *benchResult) whole() error {
	if len(r.Cells) == 0 {
		return errors.New("it holds no cell")
	}
	for i, c := range r.Cells {
		if c.Label == "" || slices.ContainsFunc(r.Cells[:i], func(d benchCell) bool { return d.Label == c.Label }) {
			return fmt.Errorf("its cell %d has no name of its own", i+1)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			if m := c.Metrics[name]; m == nil || math.IsNaN(m.Mean) || math.IsInf(m.Mean, 0) || len(m.Values) == 0 {
				return fmt.Errorf("its metric %s of %s has no values", name, c.Label)
			}
		}
	}
	return nil
}

// compareFiles compares two files where the argument is one and no URL; done
// reports whether it was.
func (a *app) compareFiles(b *bench) (done bool, err error) {
	if b.compare == "" {
		return false, nil
	}
	if !slices.Contains([]string{"", "md"}, b.format) && b.out == "" {
		return true, b.wrong("compare", "it prints text, which does not go together with %s: give --out FILE for that", b.format)
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
		return true, b.wrong("compare", "%s is of another tool: give the URL of a server, or a result of mxflow bench, and compare that with %s", b.url, b.url)
	}
	return true, a.compareWith(b, now.result)
}

// comparable refuses a comparison that no measurement could make possible, before
// there is one.
func (b bench) comparable() error {
	if b.earlier == nil || b.earlier.result == nil {
		return nil
	}
	w, err := b.workload(0)
	if err != nil {
		return err
	}
	planned := &benchResult{Dataset: b.sent()}
	for _, c := range w.Cells() {
		planned.Cells = append(planned.Cells, benchCell{Label: c.Label})
	}
	if why := notComparable(b.earlier.result, planned); why != "" {
		return b.wrong("compare", "nothing was measured, since %s and this could not be compared: %s", b.compare, why)
	}
	return nil
}

// compareWith prints a result beside the earlier one; nothing where none was
// asked for.
func (a *app) compareWith(b *bench, now *benchResult) error {
	switch {
	case b.earlier == nil || len(now.Cells) == 0:
		return nil
	case b.earlier.foreign != nil:
		a.besideForeign(b.earlier, now)
		return nil
	}
	then := b.earlier.result
	if why := notComparable(then, now); why != "" {
		a.exit = max(a.exit, verdict.ExitUsage)
		return fmt.Errorf("--compare: %s and this cannot be compared: %s", b.compare, why)
	}
	fmt.Fprintf(a.stdout, "\ncompared with %s: %s at %s (%s), %s, %s\n\n", b.compare, imported.Printable(then.Model), imported.Printable(then.URL),
		imported.Printable(then.Engine), then.Started.UTC().Format("2006-01-02 15:04 MST"), imported.Printable(then.Tool))
	a.printTable([]string{"cell", "metric", "then", "now", "now / then"}, ratios(then, now))
	a.lines("not alike", unlike(then, now))
	a.lines("what this shows", a.whatItShows(then, now))
	return nil
}

// notComparable is why two results have nothing to do with each other.
func notComparable(then, now *benchResult) string {
	switch {
	case len(then.Invalid) > 0:
		return "what was measured then does not count: " + tell.Line(then.Invalid[0])
	case len(now.Invalid) > 0:
		return "what was measured now does not count: " + tell.Line(now.Invalid[0])
	case (then.Dataset == nil) != (now.Dataset == nil):
		return "one sent the rows of a dataset, the other made prompts"
	case then.Dataset != nil && then.Dataset.Digest != now.Dataset.Digest:
		return fmt.Sprintf("they sent two datasets, %s and %s", then.Dataset.File, now.Dataset.File)
	}
	if len(shared(then, now)) == 0 {
		return fmt.Sprintf("no cell is in both: %s then, %s now. Measure with the same --pp, --tg, --depth and --concurrency", labels(then.Cells), labels(now.Cells))
	}
	return ""
}

func labels(cells []benchCell) string {
	var names []string
	for _, c := range cells {
		names = append(names, c.Label)
	}
	return strings.Join(names, ", ")
}

// shared are the cells of both, as pairs of then and now.
func shared(then, now *benchResult) (pairs [][2]benchCell) {
	for _, c := range now.Cells {
		for _, d := range then.Cells {
			if c.Label == d.Label {
				pairs = append(pairs, [2]benchCell{d, c})
			}
		}
	}
	return pairs
}
