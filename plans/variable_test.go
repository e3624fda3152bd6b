package plans

import (
	"fmt"
	"testing"
)

func TestVarsReplaceDefaults(t *testing.T) {
	const src = `
plan "p" {
  summary = "${var.model} ${var.requests} ${var.fast} ${join("+", var.names)}"
}
variable "model" {
  type = string
}
variable "requests" {
  type    = number
  default = 10
}
variable "fast" {
  type    = bool
  default = false
}
variable "names" {
  type    = list(string)
  default = []
}
variable "free" {
  default = 1
}
`
	load := func(vars map[string]string) *Result {
		return LoadBytes("plan.hcl", []byte(src), testRegistry(), Options{Vars: vars})
	}
	for _, c := range []struct {
		vars          map[string]string
		summary, errs string
	}{
		{map[string]string{"model": "m"}, "m 10 false ", ""},
		{map[string]string{"model": `"`, "requests": "3", "fast": "true", "names": `["a", "b"]`}, `" 3 true a+b`, ""},
		{map[string]string{}, "", "Missing value for variable"},
		{map[string]string{"model": "m", "requests": "many"}, "", "Wrong type for variable"},
		{map[string]string{"model": "m", "requests": "1e999999999"}, "", "Wrong type for variable"},
		{map[string]string{"model": "m", "names": "a, b"}, "", "Cannot read --var"},
		{map[string]string{"model": "m", "names": "[((("}, "", "Cannot read --var"},
		{map[string]string{"model": "m", "names": "[for x in [1] : x]"}, "", "Cannot read --var"},
		{map[string]string{"model": "m", "names": `["a", var.model]`}, "", "Cannot read --var"},
		{map[string]string{"model": "m", "names": ""}, "", "Cannot read --var"},
		{map[string]string{"model": "m", "reqests": "3"}, "m 10 false ", "Unknown variable in --var"},
	} {
		res := load(c.vars)
		if got := summaries(res); got != c.errs {
			t.Errorf("%v: got %q, want %q\n%s", c.vars, got, c.errs, res.text())
		}
		if res.Plan.Summary != c.summary {
			t.Errorf("%v: summary %q, want %q", c.vars, res.Plan.Summary, c.summary)
		}
	}
	res := load(map[string]string{"model": "m"})
	var got string
	for _, v := range res.Plan.Variables {
		got += fmt.Sprintf("%s=%v (%s) ", v.Name, v.Value, v.From)
	}
	if want := "model=m (--var) requests=10 (default) fast=false (default) names=[] (default) free=1 (default) "; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
