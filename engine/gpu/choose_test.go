package gpu

import (
	"strings"
	"testing"
)

var (
	threeGPUs = []GPU{
		{Index: 0, UUID: "GPU-aaaa-1", Name: "A100"},
		{Index: 1, UUID: "GPU-aabb-2", Name: "A100"},
		{Index: 2, UUID: "GPU-cccc-3", Name: "T4"},
	}
	migParents = parseParents("GPU 0: A100 (UUID: GPU-aaaa-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-x-y)\nGPU 1: A100 (UUID: GPU-aabb-2)\n")
)

func indices(gpus []GPU) string {
	var b strings.Builder
	for _, g := range gpus {
		b.WriteByte(byte('0' + g.Index))
	}
	return b.String()
}

func TestChoose(t *testing.T) {
	for _, test := range []struct{ names, want, problem string }{
		{"", "", ""},
		{"all", "012", ""},
		{"none", "", ""},
		{"1", "1", ""},
		{"2 0", "02", ""},
		{"GPU-aabb-2 1", "1", ""},
		{"GPU-c", "2", ""},
		{"MIG-x-y", "0", ""},
		{"GPU-aa", "", "several UUIDs"},
		{"GPU-", "", "there is no GPU"},
		{"3", "", "there is no GPU \"3\"; there are GPU 0 (A100, GPU-aaaa-1)"},
		{"-1", "", "there is no GPU"},
		{"MIG-z", "", "there is no GPU"},
	} {
		got, err := Choose(threeGPUs, migParents, strings.Fields(test.names))
		if test.problem == "" && (err != nil || indices(got) != test.want) ||
			test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%q: %v, %v", test.names, indices(got), err)
		}
	}
	if _, err := Choose(nil, nil, []string{"0"}); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("got %v", err)
	}
}

func TestVisible(t *testing.T) {
	alike := threeGPUs[:2]
	for _, test := range []struct {
		gpus        []GPU
		list, order string
		want        string
		sure        bool
	}{
		{alike, "0", "", "0", true},
		{alike, "1,0", "", "10", true},
		{alike, "", "", "", true},
		{alike, "-1", "", "", true},
		// What does not exist hides all that follows.
		{alike, "1,7,0", "", "1", true},
		{alike, "GPU-aabb", "", "1", true},
		{alike, "MIG-x-y", "", "0", true},
		{alike, "1,1", "", "1", true},
		// CUDA counts different GPUs by speed.
		{threeGPUs, "0", "", "012", false},
		{threeGPUs, "0", "FASTEST_FIRST", "012", false},
		{threeGPUs, "2", "PCI_BUS_ID", "2", true},
		{threeGPUs, "GPU-cccc", "", "2", true},
		{nil, "0", "", "", true},
	} {
		got, sure := Visible(test.gpus, migParents, test.list, test.order)
		if indices(got) != test.want || sure != test.sure {
			t.Errorf("%q of %d: %s, %v", test.list, len(test.gpus), indices(got), sure)
		}
	}
}
