package variant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"

	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/plans"
)

// maxItems is how many items a program may give.
const maxItems = 1 << 20

// ItemsPart is the block of a program that gives one result per item.
var ItemsPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "Results item by item, paired with the parent's: numbers `lost` (right in the parent, wrong here), `gained` (the reverse) and `lost_p`, the chance of this many losses if neither variant is better (exact McNemar test, one-sided).",
		Example: `items {
  jq = ".samples[] | { id: .doc_id, right: (.exact_match == 1) }"
}`,
		Attrs: []plans.Attr{
			{Name: "jq", Type: plans.String, Required: true, Doc: "jq expression that yields { id, right } for each item: id a text or a number, right true or false."},
		},
		Check: func(b *plans.Block) []plans.AttrError {
			text, _ := b.Attrs["jq"].(string)
			if _, err := observe.CompileJQ(text); err != nil {
				return []plans.AttrError{{Attr: "jq", Code: "invalid-jq", Summary: "Invalid jq expression", Detail: fmt.Sprintf("%v. Write an expression that yields { id, right } for each item.", err)}}
			}
			return nil
		},
	},
}

// Items extracts results item by item from a program's output: by ID, whether it is
// right. The error is one sentence about the first mistake.
func (c *Command) Items(ctx context.Context, jq string, text []byte) (map[string]bool, error) {
	document, err := c.document(text)
	if err != nil {
		return nil, err
	}
	program, err := observe.CompileJQ(jq)
	if err != nil {
		return nil, err
	}
	ctx, cancel := observe.WithinJQ(ctx, jqLimit)
	defer cancel()
	items := map[string]bool{}
	for iter := program.RunWithContext(ctx, document); ; {
		v, more := iter.Next()
		if !more {
			break
		}
		id, right, err := item(v)
		_, twice := items[id]
		switch {
		case errors.Is(context.Cause(ctx), observe.ErrJQMemory):
			err = observe.ErrJQMemory
		case err != nil:
		case twice:
			err = fmt.Errorf("gives item %s twice", id)
		case len(items) == maxItems:
			err = fmt.Errorf("gives more than %d items", maxItems)
		}
		if err != nil {
			return nil, fmt.Errorf("items (%s): %w", jq, err)
		}
		items[id] = right
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("items (%s): gives no item", jq)
	}
	return items, nil
}

// item reads { id, right }.
func item(v any) (id string, right bool, err error) {
	if failed, ok := v.(error); ok {
		return "", false, fmt.Errorf("fails: %w", failed)
	}
	o, ok := v.(map[string]any)
	if !ok {
		return "", false, fmt.Errorf("gives %s, not { id, right }", gojq.TypeOf(v))
	}
	switch o["id"].(type) {
	case string, float64, int:
	default:
		return "", false, fmt.Errorf("gives an item whose id is %s: a text or a number", gojq.TypeOf(o["id"]))
	}
	text, err := json.Marshal(o["id"])
	if err != nil {
		return "", false, err
	}
	if right, ok = o["right"].(bool); !ok {
		return "", false, fmt.Errorf("gives item %s, whose right is %s: true or false", text, gojq.TypeOf(o["right"]))
	}
	return string(text), right, nil
}
