package machine

import (
	"reflect"
	"testing"
)

func TestShare(t *testing.T) {
	// Two sockets of two cores with two threads each, numbered as Linux does.
	two := []CPU{{0, "0/0", 0}, {1, "0/1", 0}, {2, "1/0", 1}, {3, "1/1", 1}, {4, "0/0", 0}, {5, "0/1", 0}, {6, "1/0", 1}, {7, "1/1", 1}}
	for _, c := range []struct {
		name  string
		cpus  []CPU
		nodes []int
		want  [][]int
	}{
		{"a place on each node", two, []int{0, 1}, [][]int{{0, 1, 4, 5}, {2, 3, 6, 7}}},
		{"the other way round", two, []int{1, 0}, [][]int{{2, 3, 6, 7}, {0, 1, 4, 5}}},
		{"two on each", two, []int{0, 0, 1, 1}, [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}},
		{"two on one and one on the other have the same", two, []int{0, 0, 1}, [][]int{{0, 4}, {1, 5}, {2, 6}}},
		{"one node is not known", two, []int{0, -1}, [][]int{{0, 1, 4, 5}, {2, 3, 6, 7}}},
		{"a core is left over", two[:3], []int{-1, -1}, [][]int{{0}, {1}}},
		{"more places than cores", two, []int{0, 0, 0}, nil},
		{"nothing known", nil, []int{-1, -1}, nil},
	} {
		if got := Share(c.cpus, c.nodes); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCPUs(t *testing.T) {
	seen := map[int]bool{}
	for _, c := range CPUs() {
		if seen[c.ID] || c.Core == "" {
			t.Errorf("%+v", c)
		}
		seen[c.ID] = true
	}
	if NodeOf("../../etc") != -1 || NodeOf("ffff:ff:ff.7") != -1 {
		t.Error("a device that is not there has a node")
	}
}
