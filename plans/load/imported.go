package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var importedDoc = block(plans.Imported{}, lang.BlockDoc{
	Type: "imported", Times: plans.AnyTimes,
	Doc: "The result file of another benchmark tool, for rules to read. Its numbers have the tool's own names and " +
		"definitions, which `mxflow import FILE` shows. They are fixed numbers, like those of a target.",
})

func (l *loader) decodeImported(b *hcl.Block) {
	i := &plans.Imported{}
	f := l.Read(b, importedDoc, i)
	if i.File != "" {
		data, digest, err := readNamed(l.plan, i.File, imported.MaxSize)
		if i.Digest = digest; err == nil {
			var own *imported.Format
			if i.JQ != "" {
				own, err = imported.ParseFormat("its jq", i.JQ)
			}
			if err == nil {
				i.Result, err = imported.Read(i.File, data, own, false)
			}
		}
		if err != nil {
			l.Fail(f.At("file"), "imported", "Unusable result file", "%s.", strings.TrimSuffix(err.Error(), "."))
		}
	}
	add(l, b, &l.plan.Imported, i)
}
