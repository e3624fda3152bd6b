package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/convert"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
	decided "github.com/mxflow/mxflow/steps/cases"
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

// TestCaseTemplatesOfExamples: almost all cases for the rules of examples have
// their numbers, and formatting them changes nothing that they say.
func TestCaseTemplatesOfExamples(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*/plan.hcl")
	written, comments := 0, 0
	for _, file := range files {
		res := load.Path(file, steps.Registry(), load.Options{})
		if !res.OK() {
			t.Fatalf("%s: %v", file, res.Diagnostics)
		}
		text, open := decided.Templates(res, nil)
		comments += open
		if text == "" {
			continue // it compares, and decides nothing
		}
		formatted, problems := convert.Format("plan.mxtest.hcl", []byte(text))
		if problems != nil {
			t.Fatal(problems.Diagnostics)
		}
		cases, found := cases.Bytes(res, "plan.mxtest.hcl", formatted)
		if !found.OK() {
			t.Fatal(found.Diagnostics)
		}
		for _, c := range cases {
			if o := decided.Decide(res.Plan, c); !o.OK() {
				t.Errorf("%s: %s: %+v", file, c.Name, o.Unexpected)
			}
		}
		written += len(cases)
	}
	// A gate that reads nothing but levels has no numbers with which it could fail.
	if written < 28 || comments > 4 {
		t.Errorf("%d cases for all examples, and %d as a comment", written, comments)
	}
}

// TestSchemaOfCases: editors accept cases in YAML, and find a misspelt word.
func TestSchemaOfCases(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"schema", "--cases"}, &out, &errs); status != 0 {
		t.Fatal(errs.String())
	}
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("cases.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("cases.json")
	if err != nil {
		t.Fatal(err)
	}
	const good = `case:
  a gain:
    feature: feature.kv_cache
    launches:
      chat.tg: { base: [31.6, 31.8], candidate: [98.4, null] }
    levels: { kernels: pass }
    expect: inconclusive
    given:
      other: { verdict: pass }
`
	if err := checkedBy(t, s, good); err != nil {
		t.Errorf("%#v", err)
	}
	for _, bad := range []string{"expect: incomplete", "expct: pass", "gate: cache", "verdict: 3"} {
		if checkedBy(t, s, strings.Replace(good, "expect: inconclusive", bad, 1)) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
