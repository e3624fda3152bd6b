package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Evidence is what shows that a value took effect. Globs are unanchored and
// case-insensitive, and * crosses every character.
type Evidence struct {
	// Log globs are matched against the lines of the engine's log.
	Log []string
	// Observed are observations with the value that they must, or must not, have.
	Observed map[string]any `json:",omitempty"`
}

// Empty reports whether there is nothing to look at.
func (e Evidence) Empty() bool { return len(e.Log)+len(e.Observed) == 0 }

var mustSeeDoc = &BlockDoc{
	Type: "must_see", Times: AtMost1,
	Doc:   "What proves that the value took effect: each glob has to be found, and each observation to have its value; there is at least one of either. Where a protocol has a kernels level, every value in use needs evidence, the baseline's included: unproven is not a pass.",
	Attrs: evidenceAttrs,
	Example: `must_see {
  log = ["*Marlin backend*"]
}`,
}

var mustNotSeeDoc = &BlockDoc{
	Type: "must_not_see", Times: AtMost1,
	Doc:   "What proves that the value did not take effect: no glob may be found, and no observation may have its value; there is at least one of either.",
	Attrs: evidenceAttrs,
	Example: `must_not_see {
  log = ["*backend: CUTLASS*"]
}`,
}

var evidenceAttrs = []Attr{
	{Name: "log", Type: Strings, Doc: "Globs for lines of the engine's log: unanchored, upper and lower case alike, `*` crosses everything."},
	{Name: "observed", Type: Values, Doc: "Observations with their value, as in `{ moe_kernel = \"marlin\" }`. One that is not observed proves nothing."},
}

// evidenceSchema knows trace only to say that it comes later.
var evidenceSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "log"}, {Name: "observed"}, {Name: "trace"}}}

func (l *loader) decodeEvidence(b *hcl.Block) (e Evidence) {
	if b == nil {
		return e
	}
	f := l.fields(b, evidenceSchema, b.Type)
	if a := f.attrs["trace"]; a != nil {
		l.fail(a.NameRange, "Evidence not supported yet", "Only log and observed are supported so far: globs for lines of the engine's log, and what the engine says of itself. Remove trace, and name a log line that proves the same.")
	}
	e.Observed = l.decodeObserved(f)
	if f.attrs["log"] == nil && f.attrs["observed"] == nil && f.attrs["trace"] == nil {
		l.fail(b.DefRange, "Empty "+b.Type, `%s names nothing to look for. Add: log = ["*text of a log line*"], or observed = { … }.`, b.Type)
		return e
	}
	v, ok := f.value("log")
	if !ok {
		return e
	}
	e.Log = f.texts("log")
	elems, isList := l.elements(f.attrs["log"].Expr, v)
	for _, g := range elems {
		if s, isText := plain(g.v).(string); isText && strings.Trim(s, "* ") == "" {
			l.fail(g.at, "Glob matches everything", "%q is found in every log, so it proves nothing. Name text that only this value makes the engine log.", s)
		}
	}
	if isList && len(elems) == 0 {
		l.fail(f.at("log"), "Empty log", `The list is empty. Add a glob, such as "*text of a log line*".`)
	}
	return e
}
