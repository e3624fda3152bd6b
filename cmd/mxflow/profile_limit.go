package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/engine/roofline"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// served is what an engine served while it was profiled, and on what: what its kernels are
// held against.
type served struct {
	config    string
	gpus      []string
	context   float64
	bandwidth float64
	model     *limit.Model
	// recorded is what a launch was held against, in place of all that.
	recorded *roofline.Basis
}

func (s *served) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.config, "model", "", "`config.json` of the model: with --gpu, show how far kernels are from what the machine allows")
	f.StringArrayVar(&s.gpus, "gpu", nil, "`name` of the GPU as nvidia-smi prints it (repeat it for several)")
	f.Float64Var(&s.context, "context", 0, "tokens of context of each request, for the KV cache that decoding reads")
	f.Float64Var(&s.bandwidth, "bandwidth", 0, "`GB/s` that a benchmark read on all GPUs together, in place of the data sheets'")
}

// read reads the model's config. It is not asked where neither model nor GPU is named.
func (s *served) read() (asked bool, err error) {
	switch {
	case s.config == "" && len(s.gpus) == 0 && s.context == 0 && s.bandwidth == 0:
		return false, nil
	case s.config == "" || len(s.gpus) == 0:
		return false, errors.New("what a machine allows takes both --model config.json and --gpu NAME")
	case !(s.context >= 0 && s.context <= 1e9):
		return false, fmt.Errorf("--context %v: give tokens, such as 1024", s.context)
	case !(s.bandwidth >= 0 && s.bandwidth <= 1e9):
		return false, fmt.Errorf("--bandwidth %v: give GB/s, such as 3000", s.bandwidth)
	}
	if _, err := limit.Of(s.gpus); err != nil {
		return false, fmt.Errorf("--gpu: %w. Known are %s", err, strings.Join(limit.Known(), ", "))
	}
	text, err := os.ReadFile(s.config)
	if err != nil {
		return false, fmt.Errorf("--model: %w", err)
	}
	if s.model, err = limit.Read(text); err != nil {
		return false, fmt.Errorf("--model %s: %w", s.config, err)
	}
	return true, nil
}

// against lays a part out. One name stands for all GPUs of the part.
func (s *served) against(p *profile.Part) (*roofline.Roofline, error) {
	if s.recorded != nil {
		return roofline.Of(p, *s.recorded)
	}
	names := s.gpus
	if len(names) == 1 {
		names = slices.Repeat(names, max(p.GPUs, 1))
	}
	on, err := limit.Of(names)
	if err != nil {
		return nil, err
	}
	on.Reached = s.bandwidth * 1e9
	return roofline.Of(p, roofline.Basis{Model: s.model, Machine: on, Context: s.context})
}

// limited is an analysis and what the machine allows each part that can be laid out, as JSON.
type limited struct {
	Analysis *profile.Analysis    `json:"analysis"`
	Limits   []*roofline.Roofline `json:"limits"`
}

func (s *served) limited(analysis *profile.Analysis) limited {
	out := limited{Analysis: analysis, Limits: []*roofline.Roofline{}}
	for i := range analysis.Parts {
		if r, err := s.against(&analysis.Parts[i]); err == nil {
			out.Limits = append(out.Limits, r)
		}
	}
	return out
}

// printLimit shows where the time of a step goes, and how short it could be.
func (a *app) printLimit(p *profile.Part, s *served) {
	r, err := s.against(p)
	switch {
	case errors.Is(err, roofline.ErrWhole):
		fmt.Fprintf(a.stdout, "\nNo limit: %v. Say with --phase, --requests and --steps what it was.\n", err)
		return
	case err != nil:
		fmt.Fprintf(a.stdout, "\nNo limit: %v.\n", err)
		return
	}
	percent := func(share float64) string { return tell.Digits(share, "share", -2) }
	var rows [][]string
	for _, row := range r.Rows {
		line := []string{tell.Category(row.Category), tenths(row.Took), "", "", "", ""}
		if row.Limit > 0 {
			line[2], line[3], line[5] = tenths(row.Limit), percent(row.OfLimit()), string(row.Waits)
		}
		if row.Gain != nil && !row.Gain.Open {
			line[4] = tell.Number(row.Gain.Most, "ratio")
		}
		rows = append(rows, line)
	}
	if r.Timed() {
		rows = append(rows, []string{"no GPU at work", spanned(r.Step.Low-r.Busy, r.Step.High-r.Busy, tenths), "", "", "", ""})
		step := []string{"step", spanned(r.Step.Low, r.Step.High, tenths), "", "", "", ""}
		if least := r.Limit(); least > 0 {
			step[2], step[3] = tenths(least), spanned(least/r.Step.High, least/r.Step.Low, percent)
		}
		rows = append(rows, step)
	}
	for col := 1; col < 5; col++ {
		flushRight(rows, col)
	}
	if r.Model != "" {
		by := "data sheet"
		if r.Measured {
			by = "measured"
		}
		title := fmt.Sprintf("%s on %s, %s (%s)", r.Model, r.Machine, tell.Number(r.Bandwidth, "GB/s"), by)
		if r.Phase == profile.Decode {
			title += fmt.Sprintf(", %s tokens of context", tell.Number(r.Context, ""))
		}
		fmt.Fprintln(a.stdout, "\n"+title)
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"limit", "µs/step", "at least", "of limit", "gain at it", "waits for"}, rows)
	fmt.Fprintln(a.stdout)
	for _, fact := range factsOf(r) {
		fmt.Fprintln(a.stdout, tell.Sentence(fact))
	}
}

// spanned is a span, or one number where both ends read the same.
func spanned(low, high float64, text func(float64) string) string {
	if x, y := text(low), text(high); x != y {
		return x + "–" + y
	}
	return text(low)
}

// flushRight lets the cells of a column end below each other.
func flushRight(rows [][]string, col int) {
	widest := 0
	for _, r := range rows {
		widest = max(widest, lipgloss.Width(r[col]))
	}
	for _, r := range rows {
		r[col] = strings.Repeat(" ", widest-lipgloss.Width(r[col])) + r[col]
	}
}

// factsOf are what bounds a part of a profile, and what to know of its limits.
func factsOf(r *roofline.Roofline) []verdict.Reason {
	facts := []verdict.Reason{boundBy(r)}
	var above []string
	for _, row := range r.Rows {
		if row.OfLimit() > 1 {
			above = append(above, tell.Category(row.Category))
		}
		if row.Kernel != "" {
			facts = append(facts, verdict.New(code.HeadTaken).On(row.Kernel))
		}
	}
	if above != nil {
		facts = append(facts, verdict.New(code.AboveLimit, verdict.List("categories", above)))
	}
	return facts
}

// boundBy is what bounds a part of a profile, as a fact.
func boundBy(r *roofline.Roofline) verdict.Reason {
	b := r.Bound
	share := func(name string, s roofline.Span) verdict.Arg {
		if s.Low == s.High {
			return verdict.Num(name, s.Low, "share")
		}
		return verdict.Span(name, s.Low, s.High, "share")
	}
	shares := []verdict.Arg{
		share("idle", b.Idle), share("memory", b.Memory), share("compute", b.Compute), share("communication", b.Communication), share("rest", b.Rest),
	}
	of := verdict.Num("of_limit", b.OfLimit, "share")
	switch b.By {
	case roofline.Host:
		return verdict.New(code.BoundHost, share("share", b.Idle)).On(r.Phase)
	case roofline.Communication:
		return verdict.New(code.BoundCommunication, share("share", b.Communication)).On(r.Phase)
	case roofline.Memory:
		return verdict.New(code.BoundMemory, share("share", b.Memory), of).On(r.Phase)
	case roofline.Compute:
		return verdict.New(code.BoundCompute, share("share", b.Compute), of).On(r.Phase)
	}
	why := verdict.New(code.NothingMost, shares...)
	switch b.Why {
	case roofline.NoLimit:
		why = verdict.New(code.NoLimit)
	case roofline.Unseen:
		var missing []string
		for _, row := range r.Missing {
			missing = append(missing, row.Category)
		}
		why = verdict.New(code.KernelsUnseen, verdict.List("categories", missing))
	case roofline.Slowed:
		why = verdict.New(code.ProfilerSlowed, shares...)
	case roofline.Untimed:
		why = verdict.New(code.SumsOnly)
	}
	return verdict.New(code.BoundUnknown).On(r.Phase).From(why)
}
