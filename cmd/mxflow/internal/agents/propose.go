package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mxflow/mxflow/plans/lang"
	planseal "github.com/mxflow/mxflow/plans/seal"
)

type featureAsk struct {
	Phase   string            `json:"phase"`
	Name    string            `json:"name"`
	Set     map[string]string `json:"set" jsonschema:"knob values in which the candidate differs from its parent"`
	Like    string            `json:"like,omitempty" jsonschema:"the sealed feature of the phase whose criteria it takes; the first if empty"`
	Summary string            `json:"summary,omitempty"`
	Metric  string            `json:"metric,omitempty" jsonschema:"metric of the hypothesis, such as chat.tg"`
	Expect  string            `json:"expect,omitempty" jsonschema:"such as +10%"`
	Because string            `json:"because,omitempty"`
}

type valueAsk struct {
	Knob     string            `json:"knob"`
	Value    string            `json:"value"`
	Env      map[string]string `json:"env,omitempty"`
	Settings map[string]any    `json:"settings,omitempty"`
	Args     []string          `json:"args,omitempty"`
	// Source and Ref are the engine's source and its revision.
	Source     string   `json:"source,omitempty" jsonschema:"name of the engine's source that ref belongs to"`
	Ref        string   `json:"ref,omitempty"`
	MustSee    []string `json:"must_see" jsonschema:"globs of log lines proving that the value took effect"`
	MustNotSee []string `json:"must_not_see,omitempty"`
}

// ProposedAnswer reports that a proposal is in the plan, or why the seal forbids it.
type ProposedAnswer struct {
	Written bool   `json:"written"`
	File    string `json:"file"`
	// Refused is what goes beyond the seal, Diagnostics what is wrong with the resulting
	// plan.
	Refused     []planseal.Change `json:"refused,omitempty"`
	Diagnostics any               `json:"diagnostics,omitempty"`
}

// word is a valid name of a proposal: it is written between quotes in a plan.
var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

func (s *server) proposeFeature(_ context.Context, ask featureAsk) (any, error) {
	if !word.MatchString(ask.Name) {
		return nil, fmt.Errorf("name %q: the name of a feature is a word of letters, digits, _ and -", ask.Name)
	}
	return s.propose(func(body *hclwrite.Body) error {
		phase := body.FirstMatchingBlock("phase", []string{ask.Phase})
		if phase == nil {
			return elsewhere{"phase", ask.Phase}
		}
		var like *hclwrite.Block
		for _, b := range phase.Body().Blocks() {
			if b.Type() != "feature" || len(b.Labels()) != 1 {
				continue
			}
			if b.Labels()[0] == ask.Name {
				return fmt.Errorf("phase %s already has a feature %q: choose another name", ask.Phase, ask.Name)
			}
			if like == nil && (ask.Like == "" || b.Labels()[0] == ask.Like) {
				like = b
			}
		}
		if like == nil {
			return fmt.Errorf("phase %s has no feature %q to take criteria from", ask.Phase, ask.Like)
		}
		tokens := like.BuildTokens(nil)
		for tokens[0].Type == hclsyntax.TokenComment { // a comment above it belongs to that feature
			tokens = tokens[1:]
		}
		file, diags := hclwrite.ParseConfig(tokens.Bytes(), s.Path, hcl.InitialPos)
		if diags.HasErrors() {
			return diags
		}
		own := file.Body().Blocks()[0]
		own.SetLabels([]string{ask.Name})
		for _, name := range []string{
			"summary", "priority", "notes", "improve", "blocked_by", "superseded_by",
			"choose", "prefer", "set",
		} {
			own.Body().RemoveAttribute(name)
		}
		for _, b := range own.Body().Blocks() {
			if b.Type() == "hypothesis" {
				own.Body().RemoveBlock(b)
			}
		}
		if ask.Summary != "" {
			own.Body().SetAttributeValue("summary", cty.StringVal(ask.Summary))
		}
		own.Body().SetAttributeValue("set", literal(ask.Set))
		if ask.Metric != "" {
			h := own.Body().AppendNewBlock("hypothesis", nil).Body()
			h.SetAttributeValue("metric", cty.StringVal(ask.Metric))
			h.SetAttributeValue("expect", cty.StringVal(ask.Expect))
			h.SetAttributeValue("because", cty.StringVal(ask.Because))
		}
		phase.Body().AppendNewline()
		phase.Body().AppendBlock(own)
		return nil
	})
}

func (s *server) proposeValue(_ context.Context, ask valueAsk) (any, error) {
	if !word.MatchString(ask.Value) {
		return nil, fmt.Errorf("value %q: the name of a value is a word of letters, digits, _ and -", ask.Value)
	}
	return s.propose(func(body *hclwrite.Body) error {
		knob := body.FirstMatchingBlock("knob", []string{ask.Knob})
		if knob == nil {
			return elsewhere{"knob", ask.Knob}
		}
		if old := knob.Body().FirstMatchingBlock("value", []string{ask.Value}); old != nil {
			knob.Body().RemoveBlock(old)
		}
		v := knob.Body().AppendNewBlock("value", []string{ask.Value}).Body()
		if len(ask.Env) > 0 {
			v.SetAttributeValue("env", literal(ask.Env))
		}
		if len(ask.Settings) > 0 {
			v.SetAttributeValue("settings", literal(ask.Settings))
		}
		if len(ask.Args) > 0 {
			v.SetAttributeValue("args", literal(ask.Args))
		}
		if ask.Ref != "" {
			v.AppendNewBlock("source", []string{ask.Source}).Body().SetAttributeValue("ref", cty.StringVal(ask.Ref))
		}
		if len(ask.MustSee) > 0 {
			v.AppendNewBlock("must_see", nil).Body().SetAttributeValue("log", literal(ask.MustSee))
		}
		if len(ask.MustNotSee) > 0 {
			v.AppendNewBlock("must_not_see", nil).Body().SetAttributeValue("log", literal(ask.MustNotSee))
		}
		return nil
	})
}

// elsewhere is a block that a file does not have.
type elsewhere struct{ block, name string }

func (e elsewhere) Error() string { return fmt.Sprintf("%s %q is not written", e.block, e.name) }

// edited is the file of the plan in which edit finds its block, with the new text. Files
// outside the plan's folder are not its own, and those in YAML are left to their editor.
func (s *server) edited(edit func(*hclwrite.Body) error) (name string, text []byte, err error) {
	loaded, _, _ := s.load() // a plan with mistakes may be fixed
	missing := error(nil)
	for _, name := range slices.Sorted(maps.Keys(loaded.Sources)) {
		inside, err := filepath.Rel(lang.FolderOf(s.Path), name)
		if err != nil || !filepath.IsLocal(inside) || !lang.IsSource(name) || lang.IsYAML(name) {
			continue
		}
		text, err := rewritten(name, loaded.Sources[name], edit)
		if _, other := errors.AsType[elsewhere](err); other {
			missing = fmt.Errorf("%w in the HCL files of %s", err, s.Path)
			continue
		}
		return name, text, err
	}
	return "", nil, cmp.Or(missing, fmt.Errorf("cannot read %s: see validate", s.Path))
}

// rewritten is the text of a file after edit.
func rewritten(name string, text []byte, edit func(*hclwrite.Body) error) ([]byte, error) {
	file, diags := hclwrite.ParseConfig(text, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	if err := edit(file.Body()); err != nil {
		return nil, err
	}
	return hclwrite.Format(file.Bytes()), nil
}

// propose writes the plan after edit, if the seal allows it.
func (s *server) propose(edit func(*hclwrite.Body) error) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job.running() {
		return nil, errRunning
	}
	is, err := s.Seal()
	if err != nil {
		return nil, err
	}
	name, text, err := s.edited(edit)
	if err != nil {
		return nil, err
	}
	res := s.Check(name, text)
	out := ProposedAnswer{File: name}
	if !res.OK() {
		out.Diagnostics = res.DiagnosticsJSON()
		return out, nil
	}
	if out.Refused, err = is.Changes(res.Plan); err != nil || len(out.Refused) > 0 {
		return out, err
	}
	if err := s.Write(name, text); err != nil {
		return nil, err
	}
	out.Written = true
	return out, nil
}

// literal is a value of JSON as one of a plan: text in it is not evaluated.
func literal(v any) cty.Value {
	var is ctyjson.SimpleJSONValue
	text, err := json.Marshal(v)
	if err == nil {
		err = is.UnmarshalJSON(text)
	}
	if err != nil { // of what came as JSON
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return is.Value
}
