package traffic

import (
	"fmt"
	"os"
	"testing"
)

func TestScratch(t *testing.T) {
	data, _ := os.ReadFile("/tmp/trf/big.jsonl")
	tr, err := Read("x", data, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tr.Part(Select{})
	fmt.Println(p.Requests, err)
}
