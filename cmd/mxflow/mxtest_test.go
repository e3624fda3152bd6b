package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps"
)

// TestExamplesAreTested: the cases beside examples come out as they say and show
// all of their rules.
func TestExamplesAreTested(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.mxtest.*")
	if err != nil || len(files) < 2 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, file := range files {
		var out, errs bytes.Buffer
		plan := filepath.Join(filepath.Dir(file), "plan.hcl")
		status := run(context.Background(), []string{"test", plan}, &out, &errs)
		if status != 0 || errs.Len() > 0 || !strings.Contains(out.String(), "each shown to pass and to fail.") {
			t.Errorf("%s: exit status %d\n%s%s", file, status, out.String(), errs.String())
		}
		out.Reset()
		if status := run(context.Background(), []string{"validate", plan}, &out, &errs); status != 0 || errs.Len() > 0 {
			t.Errorf("%s: validate exits with %d\n%s", file, status, errs.String())
		}
	}
}

// TestSkeletonsOfExamples: for the rules of every example cases can be worked out,
// and formatting them changes nothing that they say.
func TestSkeletonsOfExamples(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*/plan.hcl")
	written := 0
	for _, file := range files {
		res := plans.Load(file, steps.Registry(), plans.Options{})
		if !res.OK() {
			t.Fatalf("%s: %v", file, res.Diagnostics)
		}
		text, left := steps.Skeleton(res, nil)
		if len(left) > 0 {
			t.Errorf("%s: %v", file, left)
		}
		if text == "" {
			continue // it compares, and decides nothing
		}
		formatted, problems := plans.Format("plan.mxtest.hcl", []byte(text))
		if problems != nil {
			t.Fatal(problems.Diagnostics)
		}
		cases, found := res.LoadCaseBytes("plan.mxtest.hcl", formatted)
		if !found.OK() {
			t.Fatal(found.Diagnostics)
		}
		for _, c := range cases {
			if o := steps.DecideCase(res.Plan, c); !o.OK() {
				t.Errorf("%s: %s: %+v", file, c.Name, o.Unexpected)
			}
		}
		written += len(cases)
	}
	if written < 30 {
		t.Errorf("only %d cases for all examples", written)
	}
}
