package profiling

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// WindowProfile is a window with the analysis of its profile.
type WindowProfile struct {
	Window
	Analysis *trace.Analysis
}

// main is the part that the window covers: the one of its phase with the most steps, as
// requests start and end one after the other. nil if there is none.
func (t *WindowProfile) main() (most *trace.Part) {
	for i := range t.Analysis.Parts {
		p := &t.Analysis.Parts[i]
		if (p.Phase == t.Phase || p.Phase == trace.Whole) &&
			(most == nil || cmp.Or(cmp.Compare(p.Steps, most.Steps), cmp.Compare(p.GPU, most.GPU)) > 0) {
			most = p
		}
	}
	return most
}

// Analyse reads the profiles of windows: each its own files, or all those that the
// profiler left once the engine had stopped. An unusable profile is a *verdict.Fault.
func (c *Config) Analyse(ctx context.Context, windows []Window, left []string) (taken []WindowProfile, err error) {
	for _, w := range windows {
		o := trace.Options{Phase: w.Phase, Requests: w.Requests, Tokens: w.Tokens, Rules: c.categories}
		files := slices.DeleteFunc(slices.Clone(w.Files), notProfile)
		if len(w.Files) == 0 {
			files, o.From, o.To = slices.DeleteFunc(slices.Clone(left), notProfile), w.Began, w.Ended
		}
		if w.Phase == trace.Decode {
			o.Steps = w.Tokens / w.Requests
		}
		if len(files) == 0 {
			return nil, &verdict.Fault{Reason: verdict.New(code.ProfileNoFile).On(w.Name())}
		}
		a, err := trace.Open(ctx, files, o)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, &verdict.Fault{Reason: unreadable(w, files, err)}
		}
		if w.Phase == trace.Prefill {
			// One part of the steps in which the engine processed prompts: sent at once, they
			// arrive one after another, and one step with one of eight says little about the
			// other seven.
			gpus := 0
			for i := range a.Parts {
				if p := &a.Parts[i]; p.Phase == trace.Prefill {
					p.Requests, gpus = w.Requests, max(gpus, p.GPUs)
				}
			}
			a = trace.Join(a)
			for i := range a.Parts {
				if p := &a.Parts[i]; p.Phase == trace.Prefill {
					p.GPUs = gpus // each step counts its own
				}
			}
		}
		t := WindowProfile{w, a}
		if p := t.main(); p != nil && w.Unprofiled > 0 {
			p.Unprofiled = float64(w.Unprofiled.Nanoseconds()) / 1000
			if w.Phase == trace.Prefill && p.Steps > 0 {
				p.Unprofiled *= float64(max(1, p.GPUs)) / float64(p.Steps)
			}
			if w.Phase == trace.Decode && p.Requests > 0 {
				// An engine that serves fewer per step takes several for a token of each.
				share := float64(min(p.Requests, w.Requests)) / float64(w.Requests)
				p.Unprofiled *= share
				if len(w.Threads) > 0 && p.Steps > 0 {
					p.Threads = slices.Clone(w.Threads) // the trace's include the profiler's own work
					for i := range p.Threads {
						p.Threads[i].Total *= share * float64(p.Steps)
					}
				}
			}
		}
		taken = append(taken, t)
	}
	return taken, nil
}

// notProfile reports files that profilers write beside their profiles.
func notProfile(path string) bool { return !trace.IsProfile(path) }

func unreadable(w Window, files []string, err error) verdict.Reason {
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	switch {
	case errors.Is(err, trace.ErrHidden):
		return verdict.New(code.ProfileHidden).On(w.Name())
	case errors.Is(err, trace.ErrNoKernels):
		return verdict.Say("profile.no_kernels",
			"{subject}: no kernel of the engine in {files:and}: check that the profiler records the GPU",
			verdict.List("files", files)).On(w.Name())
	}
	return verdict.Say("profile.unread", "{subject}: the profile cannot be read: {error}",
		verdict.Line(err)).On(w.Name())
}

// HiddenGraphs is how many launches of CUDA graphs hide their kernels.
func HiddenGraphs(taken []WindowProfile) (graphs int) {
	for _, t := range taken {
		for _, f := range t.Analysis.Files {
			graphs += f.Hidden
		}
	}
	return graphs
}

// JoinAnalyses is one analysis of all windows, one part each. Other parts are steps at a
// window's ends, with other numbers of requests.
func JoinAnalyses(taken []WindowProfile) *trace.Analysis {
	var all []*trace.Analysis
	for _, t := range taken {
		of := &trace.Analysis{Files: t.Analysis.Files}
		if p := t.main(); p != nil {
			part := *p
			part.Requests = t.Requests // an engine may serve fewer per step
			of.Parts = []trace.Part{part}
		}
		all = append(all, of)
	}
	return trace.Join(all...)
}

// Launches counts the launches of kernels that any of some patterns match, with the one
// that took longest.
func Launches(taken []WindowProfile, matches func(name string) bool) (n int, us float64, longest trace.Kernel) {
	for _, t := range taken {
		for _, p := range t.Analysis.Parts {
			for _, k := range p.Kernels {
				if !matches(k.Name) {
					continue
				}
				n, us = n+k.Count, us+k.Total
				if k.Total > longest.Total {
					longest = k
				}
			}
		}
	}
	return n, us, longest
}
