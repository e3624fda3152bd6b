package main

import "testing"

// The command line that stands in a plan asks for the same plan again.
func TestABLine(t *testing.T) {
	c := newABCommand(&app{})
	given := []string{"--a", "vllm serve m", "--b", "vllm serve m --x", "--claim", "-3%", "--answers", "0.9", "--timeout", "20m", "--accept", "packages,repo.vllm", "--quick", "--dry-run"}
	if err := c.ParseFlags(given); err != nil {
		t.Fatal(err)
	}
	const want = "mxflow ab --a 'vllm serve m' --accept packages --accept repo.vllm --answers 0.9 --b 'vllm serve m --x' --claim -3% --timeout 20m0s"
	if got := abLine(c.Flags()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
