package main

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// exampleLaunches is how many launches applying an example takes: one qualification
// for each variant, which serves all its levels but the benchmark, and the arms of
// its sessions, each of which is launched three to eight times.
var exampleLaunches = map[string]struct{ qualification, arms int }{
	// baseline, kv_cache, routed_moe; a feature of two arms and one of three, since
	// a rule compares it with the baseline too.
	"quickstart": {3, 2 + 3},
	// One feature of two arms.
	"rejected": {2, 2}, "command": {2, 2}, "load": {2, 2}, "speculation": {2, 2}, "prefix_cache": {2, 2},
	// baseline and three alternatives, all in one session.
	"choose": {4, 4},
	// Three engines, three times.
	"frameworks": {3, 3},
}

// checkLaunches compares the launches in an example's state with what its levels
// need. A launch too many is time on a GPU that shows nothing.
func checkLaunches(t *testing.T, name, state, file string) {
	t.Helper()
	want, known := exampleLaunches[name]
	if !known {
		t.Fatalf("how many launches does example %s take? Say it in exampleLaunches", name)
	}
	out, err := exec.Command(program, "show", "--json", "--state", state, "latest", file).Output()
	if err != nil {
		t.Fatalf("mxflow show: %v", err)
	}
	var run struct {
		Launches []struct {
			ID, Purpose, Variant string
			VariantKey           string `json:"variant_key"`
		}
	}
	if err := json.Unmarshal(out, &run); err != nil {
		t.Fatal(err)
	}
	purposes, qualified := map[string]int{}, map[string]string{}
	for _, l := range run.Launches {
		purposes[l.Purpose]++
		if l.Purpose != "qualification" {
			continue
		}
		if first := qualified[l.VariantKey]; first != "" {
			t.Errorf("variant %s was started twice to be qualified: %s and %s", l.Variant, first, l.ID)
		}
		qualified[l.VariantKey] = l.ID
	}
	n := purposes["benchmark"]
	if purposes["qualification"] != want.qualification || n < 3*want.arms || n > 8*want.arms || len(purposes) > 2 {
		t.Errorf("launches by purpose are %v, want %d to qualify and three to eight of %d arms to measure", purposes, want.qualification, want.arms)
	}
}
