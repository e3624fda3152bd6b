package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestExamplesAreTested: the cases beside examples come out as they say.
func TestExamplesAreTested(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.mxtest.*")
	if err != nil || len(files) < 2 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, file := range files {
		var out, errs bytes.Buffer
		plan := filepath.Join(filepath.Dir(file), "plan.hcl")
		status := run(context.Background(), []string{"test", plan}, &out, &errs)
		if status != 0 || errs.Len() > 0 || !strings.Contains(out.String(), ", 0 different.") {
			t.Errorf("%s: exit status %d\n%s%s", file, status, out.String(), errs.String())
		}
		out.Reset()
		if status := run(context.Background(), []string{"validate", plan}, &out, &errs); status != 0 || errs.Len() > 0 {
			t.Errorf("%s: validate exits with %d\n%s", file, status, errs.String())
		}
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
    set:
      chat.tg.gain: 0.2
      levels.kernels: pass
    expect: inconclusive
    expect_rules: { decode: pass }
`
	if err := checkedBy(t, s, good); err != nil {
		t.Errorf("%#v", err)
	}
	for _, bad := range []string{"expect: incomplete", "expct: pass", "gate: cache", "expect: 3"} {
		if checkedBy(t, s, strings.Replace(good, "expect: inconclusive", bad, 1)) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
