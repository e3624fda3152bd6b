package plans

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Block is a level, a step or a part: a body whose shape a Registry declares.
type Block struct {
	// Kind is the label that selects the schema: "smoke", "exec".
	Kind string
	// Name is the second label of a step; a level has none.
	Name string
	// Attrs are the decoded attributes with defaults filled in: string, bool,
	// float64, []any, map[string]any; a duration is a string such as "30s"; a
	// reference is the name of what it refers to.
	Attrs map[string]any
	Range Range `json:"-"`

	// Written are the attributes that the plan has, right or wrong.
	Written map[string]bool `json:"-"`
}

// Decode puts the attributes into a struct with json tags. A duration goes
// into a Dur, a reference into a string.
func (b *Block) Decode(into any) error {
	text, err := json.Marshal(b.Attrs)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("decode %s %q: %w", b.Kind, b.Name, err)
	}
	return nil
}

// Dur is a duration that JSON holds as text, such as "1m30s".
type Dur time.Duration

// UnmarshalJSON reads the form that time.ParseDuration reads.
func (d *Dur) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	*d = Dur(parsed)
	return err
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (d Dur) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// decodeBlock reads the body of a level or step by its declared schema.
func (l *loader) decodeBlock(b *hcl.Block, schema Schema, what string) *Block {
	block := l.decodeBody(b, b.Labels[0], schema, what)
	if len(b.Labels) > 1 {
		block.Name = b.Labels[1]
	}
	return block
}

// decodeBody reads the body of a block of that kind.
func (l *loader) decodeBody(b *hcl.Block, kind string, schema Schema, what string) *Block {
	f := l.fields(b, l.bodySchema(b.Type, kind, schema), what)
	block := &Block{Kind: kind, Attrs: map[string]any{}, Range: rangeOf(b.DefRange), Written: map[string]bool{}}
	for name := range f.attrs {
		block.Written[name] = true
	}
	before := len(l.diags)
	// doubtful is set where an attribute depends on something that has been
	// found wrong elsewhere.
	doubtful := false
	f.secret = map[string]bool{}
	for _, a := range schema.Attrs {
		// What is written freely goes to a program; words to choose from do not.
		f.secret[a.Name] = (a.Type == String || a.Type == Strings || a.Type == Map) && len(a.OneOf) == 0
		if a.Type == Refs || a.Type == Reference {
			f.readReferences(a.Name)
		}
		v, ok := f.value(a.Name)
		if ok {
			if decoded, ok := l.decodeAttr(a, v, f.attrs[a.Name].Expr); ok {
				block.Attrs[a.Name] = decoded
			}
			continue
		}
		doubtful = doubtful || !f.absent(a.Name)
		if a.Required {
			f.required(a.Name, orElse(a.Doc, string(a.Type)+"."))
		}
		if a.Default != nil {
			block.Attrs[a.Name] = plainDefault(a)
		}
	}
	if schema.Check == nil || doubtful || len(l.diags) > before {
		return block
	}
	for _, e := range schema.Check(block) {
		l.fail(f.at(e.Attr), e.Summary, "%s", e.Detail)
	}
	return block
}

// bodySchema is a declared schema in HCL's terms, made once for each kind.
func (l *loader) bodySchema(block, kind string, schema Schema) *hcl.BodySchema {
	key := block + " " + kind
	if s := l.schemas[key]; s != nil {
		return s
	}
	s := &hcl.BodySchema{}
	for _, a := range schema.Attrs {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	l.schemas[key] = s
	return s
}

// plainDefault is a default in the form that a plan's own value would have,
// down to the letter, since digests are taken of it: the package that declares
// it writes 3, "5m" or []string{"log"}.
func plainDefault(a Attr) any {
	v := a.Default
	if d, ok := v.(time.Duration); ok {
		return d.String()
	}
	if text, ok := v.(string); ok && a.Type == Duration {
		if d, err := time.ParseDuration(text); err == nil {
			return d.String()
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var plain any
	if json.Unmarshal(text, &plain) != nil {
		return v
	}
	return plain
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
