package steps

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/metadata"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/steps/variant"
)

// engineVersion asks the engine itself.
func engineVersion(ctx context.Context, v *variant.Variant, inst engine.Instance, doc *metadata.Document) string {
	pattern := variant.KindOf(v.Spec).Version
	switch {
	case inst == nil:
		doc.Lack("engine.version", "the engine did not start")
		return ""
	case pattern.Path == "" && len(pattern.Log) == 0:
		doc.Lack("engine.version", "engines of this kind say it nowhere")
		return ""
	}
	pattern.Name, pattern.Type = "version", kinds.TypeString
	for _, o := range observe.All(ctx, inst, "", []kinds.Pattern{pattern}) {
		if version, ok := o.Value.(string); ok {
			return version
		}
		doc.Lack("engine.version", o.Missing)
	}
	return ""
}

// maxInfo bounds a page that is kept, in bytes.
const maxInfo = 64 << 10

// infoPages are the pages of its kind by which the engine says what runs and how.
// One that does not answer, or not in JSON, is left out: not every version has
// every page.
func infoPages(ctx context.Context, v *variant.Variant, inst engine.Instance) map[string]string {
	if inst == nil || inst.Exit() != nil {
		return nil
	}
	pages := map[string]string{}
	for _, path := range variant.KindOf(v.Spec).Info {
		text, err := observe.Page(ctx, inst.Access(), path)
		var line bytes.Buffer
		if err == nil && len(text) <= maxInfo && json.Compact(&line, text) == nil {
			pages[path] = line.String()
		}
	}
	return pages
}
