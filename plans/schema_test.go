package plans

import (
	"slices"
	"testing"
)

func TestDescriptionIsWhole(t *testing.T) {
	var repeating []string
	fileDoc.Walk(func(path string, d *BlockDoc) {
		if d.Doc == "" || d.Times == "" {
			t.Errorf("%q lacks its doc, or how often it may stand", path)
		}
		names := map[string]bool{}
		for _, a := range d.Attrs {
			if a.Name == "" || a.Type == "" || names[a.Name] {
				t.Errorf("%q has an attribute %q without name or type, or twice", path, a.Name)
			}
			names[a.Name] = true
			if a.Required && a.Default != nil {
				t.Errorf("%s.%s is required and has a default", path, a.Name)
			}
		}
		for _, label := range d.Labels {
			if label.Name == "" || label.Doc == "" {
				t.Errorf("%q has a label without name or doc", path)
			}
		}
		if d.Repeats && !slices.Contains(repeating, d.Type) {
			repeating = append(repeating, d.Type)
		}
	})
	want := slices.Clone(generates)
	slices.Sort(want)
	slices.Sort(repeating)
	if !slices.Equal(want, repeating) {
		t.Errorf("described as repeating: %q, decoded so: %q", repeating, want)
	}
}

func TestDescribeReturnsACopy(t *testing.T) {
	d := Describe(testRegistry())
	d.Block("workload").Attrs[0].Name = "changed"
	d.Block("engine").Kinds["openai"].Block("process").Times = AnyTimes
	again := Describe(testRegistry())
	if again.Block("workload").Attr("changed") != nil || again.Block("engine").Kinds["openai"].Block("process").Times != Once {
		t.Error("what a caller changes shows in the next description")
	}
}

func TestDescriptionKnowsKinds(t *testing.T) {
	d := Describe(testRegistry())
	if d.Block("protocol").Block("level").Kinds["smoke"].Attr("expect") == nil {
		t.Error("level smoke")
	}
	if d.Block("phase").Block("step").Kinds["exec"].Attr("command") == nil {
		t.Error("step exec")
	}
	engines := d.Block("engine").Kinds
	if engines["openai"].Settings != nil || len(engines["embedded"].Settings) != 4 {
		t.Error("settings of engine kinds")
	}
	if engines["openai"].Block("process").Times != Once || engines["embedded"].Block("process").Times != AtMost1 {
		t.Error("a process block is required where the kind needs one")
	}
}

// Where another block may launch an engine, none has to have a process.
func TestLaunchersStandInForProcess(t *testing.T) {
	reg := testRegistry()
	reg.EngineParts = map[string]Part{"docker": {Times: AtMost1, Launcher: true}}
	if times := Describe(reg).Block("engine").Kinds["openai"].Block("process").Times; times != AtMost1 {
		t.Errorf("process stands %s in it", times)
	}
}
