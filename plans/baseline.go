package plans

import "github.com/hashicorp/hcl/v2"

// Baseline is the variant with every knob at its default (or as Set says).
type Baseline struct {
	// Engine is "kind.name".
	Engine   string
	Protocol string
	Set      map[string]string
	// AcceptFingerprint are entries of the environment in which launches may
	// differ, see FingerprintEntries.
	AcceptFingerprint []string `json:",omitempty"`
	Range             Range    `json:"-"`
}

var baselineDoc = &BlockDoc{
	Type: "baseline", Times: AtMost1,
	Doc: "The variant that everything is compared with: an engine with every knob at its default, or as `set` says. It is qualified before anything is measured, and after the phases of steps alone that every phase with features comes after: they may build what it runs from. Where it does not pass, nothing is measured against it. A plan with features needs one.",
	Attrs: []Attr{
		{Name: "engine", Type: Reference, Ref: "engine", Required: true, Doc: "The engine under test."},
		{Name: "protocol", Type: Reference, Ref: "protocol", Required: true, Doc: "The levels that it goes through, and features that name no protocol."},
		{Name: "set", Type: Choices, Doc: "Knobs that are not at their default."},
		{Name: "accept_fingerprint", Type: Strings, Doc: "What may differ in the environments of launches that are compared, and need not be measured again when it changes: entries of their fingerprints, such as `kernel`, `driver`, `packages` or `repo.vllm`; `repo.*` is all source trees, `all` everything. Without it, launches from two environments are never compared."},
	},
	Example: `baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
  set      = { moe_kernel = "marlin" }
}`,
}

var baselineSchema = baselineDoc.schema()

func (l *loader) decodeBaseline(blocks hcl.Blocks) {
	b := l.single(blocks)
	if b == nil {
		l.protocolsInDoubt = true
		return
	}
	f := l.fields(b, baselineSchema, "baseline")
	f.required("engine", "the engine that everything is compared on, such as engine.kind.name.")
	f.required("protocol", "the tests it goes through, such as protocol.name.")
	base := &Baseline{Range: rangeOf(b.DefRange)}
	if r := f.ref("engine", "engine"); r != nil {
		base.Engine = r.key
	}
	if r := f.ref("protocol", "protocol"); r != nil {
		base.Protocol = r.key
	} else {
		l.protocolsInDoubt = true
	}
	base.Set, _ = l.decodeSet(f)
	base.AcceptFingerprint = l.decodeEntries(f)
	l.plan.Baseline = base
}

// decodeSet reads knob = "value" pairs, and returns also where each is written.
func (l *loader) decodeSet(f *body) (set map[string]string, at map[string]hcl.Range) {
	set, at = map[string]string{}, map[string]hcl.Range{}
	for _, p := range f.pairs("set") {
		k := l.checks.knobs[p.key]
		if k == nil {
			l.fail(p.keyAt, "Unknown knob", "The plan declares no knob %q.%s", p.key, l.didYouMean(p.key, l.symbols.of("knob").order))
			continue
		}
		name, ok := l.asText(p.v, p.at, "The value of knob "+quoted(p.key))
		if !ok {
			continue
		}
		set[p.key], at[p.key] = name, p.at
		if k.Value(name) == nil {
			var values []string
			for _, v := range k.Values {
				values = append(values, v.Name)
			}
			l.fail(p.at, "Unknown knob value", "Knob %q has no value %q.%s", p.key, name, l.didYouMean(name, values))
		}
	}
	if len(set) == 0 {
		set = nil
	}
	return set, at
}
