package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var lastGoodDoc = &lang.BlockDoc{
	Type: "last_good", Times: plans.AtMost1,
	Doc:   "The last known good engine: the baseline in another revision, by a `source`'s `ref`, an `image`, or the `command` of another binary. If a rule reads it (`chat.tg.last_good.gain >= -0.02`), or `against` of level `regression` names it, it is launched in the feature's session as an extra arm. It is not qualified. If it does not start, or its answers do not count, these rules are inconclusive.",
	Attrs: changeAttrs,
	Example: `last_good {
  command = ["./builds/b4520/llama-server", "--port", "{port}"]
}`,
}

func (d *knobDecoder) decodeLastGood(blocks hcl.Blocks) {
	b := d.Single(blocks)
	if b == nil {
		return
	}
	f := d.Fields(b, d.withParts(lastGoodDoc, d.reg.ValueParts))
	v := d.decodeChange(f)
	v.Name, v.Range = lastGoodDoc.Type, lang.RangeOf(b.DefRange)
	d.plan.LastGood = v
	sources := v.Parts["source"]
	if v.Image == "" && len(v.Command) == 0 && len(sources) == 0 {
		d.Fail(b.DefRange, "last-good", "No revision", `last_good needs a revision of the engine that is known to be good. Add source "name" { ref = "…" }, image = "…", or command = ["…"] with the path of a binary.`)
	}
	if v.Image != "" && len(v.Command) > 0 {
		d.Fail(f.At("command"), "last-good", "Image and command", "The baseline's engine runs in a container or as a process, so the last good one has either an image or a command. Remove one.")
	}
}

// checkLastGood checks a revision against the engine that it belongs to.
func (c *planCheck) checkLastGood() {
	v := c.plan.LastGood
	if v == nil || c.plan.Baseline == nil || c.plan.Engine(c.plan.Baseline.Engine) == nil {
		return
	}
	e := c.plan.Engine(c.plan.Baseline.Engine)
	fail := func(at plans.Range, summary, detail string, args ...any) {
		c.Fail(lang.HCL(at), "last-good", summary, detail, args...)
	}
	launcher := "process"
	if e.Launch != nil {
		launcher = e.Launch.Kind
	}
	switch {
	case launcher == "endpoint":
		fail(v.Range, "Revision of an endpoint", "Engine %s is not started by mxflow, so mxflow cannot start another revision of it. Remove last_good, or start the engine by %s.", c.plan.Baseline.Engine, plans.OrList(slices.DeleteFunc(c.engines.launchers(), func(l string) bool { return l == "endpoint" })))
	case v.Image != "" && !slices.Contains([]string{"docker", "compose"}, launcher):
		fail(v.Range, "Image of a process", "Engine %s is launched by %s, which has no image. Give last_good a command, or a source with its ref.", c.plan.Baseline.Engine, launcher)
	case len(v.Command) > 0 && launcher != "process":
		fail(v.Range, "Command of a container", "Engine %s is launched by %s, so a binary of this machine cannot be started. Give last_good an image, or a source with its ref.", c.plan.Baseline.Engine, launcher)
	}
	names := plans.Names(e.Parts["source"], func(b *plans.Block) string { return b.Name })
	for _, k := range c.plan.Knobs {
		if own := k.Value(c.plan.DefaultKnobs()[k.Name]); own != nil {
			names = append(names, plans.Names(own.Parts["source"], func(b *plans.Block) string { return b.Name })...)
		}
	}
	for _, b := range v.Parts["source"] {
		if !slices.Contains(names, b.Name) {
			fail(b.Range, "Revision of an unknown source", "Engine %s has no source %q; it has %s.%s", c.plan.Baseline.Engine, b.Name, lang.OrNothing(names), strings.TrimRight(" "+c.DidYouMean(b.Name, names), " "))
		}
	}
}
