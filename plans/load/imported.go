package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var importedDoc = &lang.BlockDoc{
	Type: "imported", Times: plans.AnyTimes,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in rules: `imported.<name>.<cell>.<metric>.<stat>`."}},
	Doc:    "The result file of another benchmark tool. Rules read its numbers under the tool's own names and definitions, which `mxflow import FILE` shows. They are fixed numbers, like those of a target.",
	Attrs: []plans.Attr{
		{Name: "summary", Type: plans.String, Doc: "Where and how it was measured, in one sentence."},
		{Name: "file", Type: plans.String, Required: true, Doc: "Path of the file, relative to the plan's folder. Its content shows which tool wrote it; a damaged file is an error. The file's content is part of the plan."},
	},
	Example: `imported "benchy" {
  file = "results/llama-benchy.json"
}`,
}

func decodeImported(s *eval.Scope, p *plans.Plan, b *hcl.Block) {
	f := s.Fields(b, importedDoc)
	i := &plans.Imported{Name: b.Labels[0], Summary: f.Text("summary"), Range: lang.RangeOf(b.DefRange)}
	i.File = f.NeedText("file", "the path of a result file, such as \"results/llama-benchy.json\".")
	if i.File != "" {
		data, digest, err := readNamed(p, i.File, imported.MaxSize)
		if i.Digest = digest; err == nil {
			i.Result, err = imported.Read(i.File, data)
		}
		if err != nil {
			s.Fail(f.At("file"), "imported", "Unusable result file", "%s.", strings.TrimSuffix(err.Error(), "."))
		}
	}
	if s.First(b) {
		p.Imported = append(p.Imported, i)
	}
}
