package plans

import (
	"bytes"
	"fmt"
)

// Dataset is a file of prompts.
type Dataset struct {
	// File is absolute; Digest is the SHA-256 of its content, in hexadecimal.
	File   string `json:"-"`
	Digest string
	// DataRows are what the file holds, which its digest covers.
	DataRows `json:"-"`
}

// DataRows are what a plan has to know of a file of prompts.
type DataRows struct {
	Count int
	// Trace: the rows are lengths and times, and no texts. Shares: prompts begin
	// alike because the rows say so.
	Trace, Shares bool
	// Unanswered and Chat are lines, from 1, and 0 where there is none: the first
	// row that does not say how long its answer is, and the first that can only be
	// sent as a chat.
	Unanswered, Chat int
}

// maxDataset is the largest file of prompts, in bytes: it is read at each load.
const maxDataset = 64 << 20

var datasetDoc = &BlockDoc{
	Type: "dataset", Times: AtMost1,
	Doc: "Sends the rows of a file in their order, in place of made prompts; none is sent twice. A measurement counts with the file's content: a changed file is measured anew.",
	Attrs: []Attr{
		{Name: "file", Type: String, Required: true, Doc: "Path of the file, relative to the plan's folder: JSON Lines, an object a row. It holds a `prompt`, `messages` or `conversations`, or it is a row of a trace: `timestamp` in ms, `input_length`, `output_length`. `output_tokens` is the length of the answer."},
	},
	Example: `dataset {
  file = "prompts.jsonl"
}`,
}

var datasetSchema = datasetDoc.schema()

func (l *loader) dataset(f *body) *Dataset {
	b := f.single("dataset")
	if b == nil {
		return nil
	}
	in := l.fields(b, datasetSchema, "dataset")
	name := in.needText("file", "the path of a file of prompts, a JSON object a line.")
	if name == "" {
		return &Dataset{}
	}
	l.at("the dataset "+name, in.at("file"))
	d, err := l.datasetOf(name)
	if err != nil {
		l.fail(in.at("file"), "Unusable dataset", "%v.", err)
	}
	return d
}

// datasetOf reads a file once a load, so that a plan sees one content.
func (l *loader) datasetOf(name string) (*Dataset, error) {
	path := l.plan.pathOf(name)
	if known, ok := l.datasets[path]; ok {
		return known.Dataset, known.err
	}
	d, err := l.plan.dataset(name, l.reg.Dataset)
	if l.datasets == nil {
		l.datasets = map[string]readOnce{}
	}
	l.datasets[path] = readOnce{d, err}
	return d, err
}

// ReadDataset reads a file of prompts for a workload that no plan declares. What
// it holds is for rows to say. Errors begin with the name.
func ReadDataset(name string, rows func(name string, data []byte) (DataRows, error)) (*Dataset, error) {
	return new(Plan).dataset(name, rows)
}

// dataset is a file's, with the error beside what is known of it.
func (p *Plan) dataset(name string, rows func(name string, data []byte) (DataRows, error)) (*Dataset, error) {
	d := &Dataset{File: p.pathOf(name)}
	data, digest, err := p.readNamed(name, maxDataset)
	d.Digest = digest
	switch {
	case err != nil:
	case len(bytes.TrimSpace(data)) == 0:
		err = fmt.Errorf("%s is empty: there is nothing to send", name)
	case rows != nil:
		d.DataRows, err = rows(name, data)
	}
	return d, err
}

type readOnce struct {
	*Dataset
	err error
}

// checkData looks at what a dataset has to hold for its workload.
func (w *Workload) checkData(f *body) {
	d := w.Data
	if d == nil || d.Count == 0 {
		return
	}
	noUse := func(name, format string, args ...any) {
		f.l.fail(f.where(name), "No use in this workload", format, args...)
	}
	switch {
	case w.Arrival == "trace" && !d.Trace:
		noUse("arrival", "The rows of the dataset have no times. Choose another arrival with a rate, or a file whose rows have timestamp and input_length.")
	case w.API == "completions" && d.Chat > 0:
		f.l.fail(f.where("dataset"), "Unusable dataset", "Line %d of the file can only be sent as a chat. Set api = \"chat\".", d.Chat)
	case len(w.OutputTokens) == 0 && w.OutputLengths == nil && d.Unanswered > 0:
		f.l.fail(f.where("dataset"), "Missing output_tokens", "Line %d of the file does not say how long the answer is. Set output_tokens, which holds where a line says nothing.", d.Unanswered)
	}
	for _, c := range w.Cells() {
		if rows := c.Requests + w.warmupRows(c.Concurrency); rows > d.Count {
			f.l.fail(f.where("dataset"), "Dataset is too short", "%s takes %d rows, and the file has %d; no row is sent twice, since the engine would have it cached. Add rows, or ask for fewer requests.", c.Address, rows, d.Count)
			return
		}
	}
}

// warmupRows are the rows that warming up takes; of a trace none, since its
// texts are made.
func (w *Workload) warmupRows(concurrency int) int {
	if w.Data.Trace {
		return 0
	}
	return w.warmupOf(concurrency)
}
