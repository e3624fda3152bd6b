package plans

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure/imported"
)

// Imported is the result file of another tool, whose numbers rules may read as
// they read those of a target. They keep the tool's definitions, and are no
// launches of anything.
type Imported struct {
	Name    string
	Summary string
	// File is as the plan has it; Digest is the SHA-256 of its content, in
	// hexadecimal.
	File   string
	Digest string
	// Result is what the file holds.
	Result *imported.File `json:"-"`
	Range  Range          `json:"-"`
}

var importedDoc = &BlockDoc{
	Type: "imported", Times: AnyTimes,
	Labels: []Label{{Name: "name", Doc: "What rules call it: `imported.<name>.<cell>.<metric>.<stat>`."}},
	Doc:    "The result file of another benchmark tool. Rules read its numbers under the tool's own names and definitions, which `mxflow import FILE` shows. They are fixed numbers, as those of a target are: they have no launches, and stand for nothing but the run that they come from.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "Where and how it was measured, in one sentence."},
		{Name: "file", Type: String, Required: true, Doc: "Path of the file, relative to the plan's folder. Which tool wrote it is told by its content; one that is damaged is an error. The plan counts with the file's content."},
	},
	Example: `imported "benchy" {
  file = "results/llama-benchy.json"
}`,
}

var importedSchema = importedDoc.schema()

func (l *loader) decodeImported(b *hcl.Block) {
	f := l.fields(b, importedSchema, fmt.Sprintf("imported %q", b.Labels[0]))
	i := &Imported{Name: b.Labels[0], Summary: f.text("summary", ""), Range: rangeOf(b.DefRange)}
	i.File = f.needText("file", "the path of a result file, such as \"results/llama-benchy.json\".")
	if i.File != "" {
		if err := i.read(l.plan); err != nil {
			l.fail(f.at("file"), "Unusable result file", "%v.", err)
		}
	}
	if l.first(b) {
		l.plan.Imported = append(l.plan.Imported, i)
	}
}

// read reads the file.
func (i *Imported) read(p *Plan) error {
	data, digest, err := p.readNamed(i.File, imported.MaxSize)
	if err != nil {
		return err
	}
	i.Digest = digest
	i.Result, err = imported.Read(i.File, data)
	var wrong *imported.Error
	if errors.As(err, &wrong) {
		return errors.New(strings.TrimSuffix(wrong.Error(), "."))
	}
	return err
}

// imported resolves imported.<name>.<cell>.<metric>[.<stat>].
func (ns *namespace) imported(in *Input, path []string) (*Input, *ruleError) {
	if len(path) < 4 || len(path) > 5 {
		return nil, wrong("Incomplete address", "Write imported.<name>.<cell>.<metric>.<stat>, as `mxflow import` shows them.")
	}
	var names []string
	for _, i := range ns.plan.Imported {
		names = append(names, i.Name)
		if i.Name == path[1] && i.Result != nil {
			return ns.importedNumber(in, i, path)
		}
	}
	return nil, wrong("Unknown imported", "There is no imported %q.%s", path[1], didYouMean(path[1], names))
}

func (ns *namespace) importedNumber(in *Input, i *Imported, path []string) (*Input, *ruleError) {
	var cells, metrics []string
	for _, c := range i.Result.Cells {
		cells = append(cells, c.Name)
		if c.Name != path[2] {
			continue
		}
		for _, m := range c.Metrics {
			metrics = append(metrics, m.Name)
		}
	}
	if metrics == nil {
		return nil, wrong("File has no such number", "%s has no cell %q; there are %s.%s", i.File, path[2], listed(cells), didYouMean(path[2], cells))
	}
	m, ok := i.Result.Lookup(path[2], path[3])
	if !ok {
		return nil, wrong("File has no such number", "%s has no %q of %s; there are %s.%s", i.File, path[3], path[2], listed(metrics), didYouMean(path[3], metrics))
	}
	stats := m.StatNames()
	stat := stats[0]
	switch {
	case len(path) == 5:
		stat = path[4]
	case len(stats) > 1:
		return nil, wrong("Incomplete address", "%s has several numbers; write one of %s behind it.", in.Path, listed(stats))
	}
	v, ok := m.Stats[stat]
	if !ok {
		return nil, wrong("File has no such number", "%s.%s of %s has no %q; there are %s.%s", path[2], path[3], i.File, stat, listed(stats), didYouMean(stat, stats))
	}
	in.Kind, in.Block, in.Name, in.Number, in.Unit, in.Better = InputTarget, "imported", i.Name, v, m.Unit, string(m.Better)
	if stat == "cv" {
		in.Unit = ""
	}
	return in, nil
}

// listed names a few of many.
func listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
