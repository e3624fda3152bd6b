package work

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/cubin"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var cubinKind = Kind{
	Schema: plans.Schema{
		Doc: "Reads for which SM versions shared libraries really carry GPU code. It passes if every library with GPU code has all that is required; a missing file fails. It reads the files on this machine and needs neither GPU nor CUDA.",
		Example: `step "cubin_arch" "gb10" {
  libraries = ["~/projects/vllm/vllm/*.abi3.so"]
  require   = ["sm_121a"]
}`,
		Attrs: []plans.Attr{
			{Name: "libraries", Type: plans.Strings, Required: true, Doc: "Files, relative to the plan's folder, or globs. Each must match, and at least one file must carry GPU code."},
			{Name: "require", Type: plans.Strings, Required: true, Doc: "What each must carry: machine code such as `sm_90`, which `sm_90a` is as well, `sm_90a` or `sm_103f`; PTX such as `compute_90`, which is compiled when it is first used."},
		},
		Check: plans.Checked(checkCubin),
	},
	Make: func(l *Site, b *plans.Block) runtime.Step { return &cubinStep{site: l, block: b} },
}

// targetForm is how nvcc names what it compiles for.
var targetForm = regexp.MustCompile(`^(sm|compute)_[0-9]{2,3}[af]?$`)

func checkCubin(_ *plans.Block, c cubinConfig) (errs []plans.AttrError) {
	for _, want := range c.Require {
		if !targetForm.MatchString(want) {
			errs = append(errs, plans.AttrError{Attr: "require", Code: "invalid-value", Summary: "Unknown SM version", Detail: fmt.Sprintf("%q is not an SM version. Write machine code as sm_90a, PTX as compute_90.", want)})
		}
	}
	for _, glob := range c.Libraries {
		if _, err := filepath.Match(glob, ""); err != nil || strings.TrimSpace(glob) == "" {
			errs = append(errs, plans.AttrError{Attr: "libraries", Code: "invalid-value", Summary: "Invalid glob", Detail: fmt.Sprintf("%q is not a glob. Write a path, in which * matches any part of a name.", glob)})
		}
	}
	return errs
}

type cubinConfig struct {
	Libraries []string `json:"libraries"`
	Require   []string `json:"require"`
}

type cubinStep struct {
	site  *Site
	block *plans.Block
}

// files are a glob's matches, sorted.
func (c *cubinStep) files(glob string) []string {
	files, _ := filepath.Glob(c.site.Plan.Path(glob)) // the glob's syntax was checked
	return files
}

// Keys take files as unchanged if size and time are.
func (c *cubinStep) Keys(*runtime.Scope) (runtime.Keys, error) {
	var of cubinConfig
	if err := c.block.Decode(&of); err != nil {
		return runtime.Keys{}, err
	}
	parts := []any{"cubin_arch", c.block.Attrs}
	for _, glob := range of.Libraries {
		for _, file := range c.files(glob) {
			if info, err := os.Stat(file); err == nil {
				parts = append(parts, file, fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano()))
			}
		}
	}
	return runtime.Keys{Measure: c.site.sealed(parts...), Decide: "cubin_arch"}, nil
}

func (c *cubinStep) Run(ctx context.Context, _ *runtime.Scope) (*ledger.Decision, error) {
	var of cubinConfig
	if err := c.block.Decode(&of); err != nil {
		return nil, err
	}
	out := &ledger.Decision{Verdict: verdict.Pass}
	carrying, read := 0, map[string]bool{}
	for _, glob := range of.Libraries {
		files := c.files(glob)
		if len(files) == 0 {
			out.Verdict, out.Reasons = verdict.Fail, append(out.Reasons, verdict.New(code.NoLibrary).On(glob))
		}
		for _, file := range files {
			if read[file] {
				continue
			}
			read[file] = true
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			targets, err := targetsOf(file)
			switch {
			case err != nil:
				return &ledger.Decision{Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.New(code.LibraryUnread, verdict.Err(err)).On(filepath.Base(file))}}, nil
			case len(targets) == 0:
				continue
			}
			carrying++
			if lacks := lacking(of.Require, targets); len(lacks) > 0 {
				out.Verdict, out.Reasons = verdict.Fail, append(out.Reasons, verdict.New(code.LibraryLacks, verdict.List("lacks", lacks), verdict.List("carries", targets)).On(filepath.Base(file)))
			} else {
				out.Reasons = append(out.Reasons, verdict.New(code.LibraryCarries, verdict.List("carries", targets)).On(filepath.Base(file)))
			}
		}
	}
	if carrying == 0 && out.Verdict == verdict.Pass {
		out.Verdict, out.Reasons = verdict.Fail, verdict.Because(code.NoGPUCode, verdict.Int("files", len(read)))
	}
	return out, nil
}

func targetsOf(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return cubin.Read(f)
}

// lacking are the missing targets. Code for sm_90 alone or for its family is code for
// sm_90.
func lacking(require, carried []string) (lacks []string) {
	for _, want := range require {
		if !slices.ContainsFunc(carried, func(has string) bool { return has == want || strings.TrimRight(has, "af") == want }) {
			lacks = append(lacks, want)
		}
	}
	return lacks
}
