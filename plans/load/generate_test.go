package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/plans/planstest"
)

// TestGenerationIsBounded holds plans that would make very much of little.
func TestGenerationIsBounded(t *testing.T) {
	phases := func(body string) string {
		return "plan \"p\" {}\nlocals {\n  n = [for i in range(1000) : \"x${i}\"]\n}\n" + body
	}
	feature := "set = { k = \"on\" }\n criterion \"c\" {\n rule = \"chat.tg.gain > 0\"\n }\n"
	for name, src := range map[string]string{
		"features of phases": phases("phase \"p\" {\n for_each = local.n\n feature \"f\" {\n count = 1000\n" + feature + "}\n}\n"),
		"dynamic in dynamic": phases("knob \"k\" {\n default = \"a\"\n dynamic \"value\" {\n for_each = local.n\n labels = [value.value]\n content {\n" +
			" dynamic \"must_see\" {\n for_each = local.n\n content {\n log = [\"x\"]\n }\n }\n }\n }\n}\n"),
		"data in dynamic": phases("knob \"k\" {\n default = \"a\"\n dynamic \"value\" {\n for_each = { for i in range(900) : \"v${i}\" => local.n }\n labels = [value.key]\n content {\n" +
			" args = [for v in value.value : \"${v}${join(\",\", value.value)}\"]\n }\n }\n}\n"),
		"work in dynamic": phases("knob \"k\" {\n default = \"a\"\n dynamic \"value\" {\n for_each = local.n\n labels = [value.value]\n content {\n" +
			" args = [join(\",\", [for v in local.n : format(\"%100s\", v)])]\n }\n }\n}\n"),
		"many blocks": phases(numbered(30, func(i int) string {
			return fmt.Sprintf("workload \"w%d\" {\n for_each = local.n\n prompt_tokens = 1\n output_tokens = 1\n}\n", i)
		})),
		"loop over files": "plan \"p\" {}\nlocals {\n s = [for c in split(\"\", file(\"dynamic_test.go\")) : file(\"dynamic_test.go\")]\n}\n",
		"nested tries":    "plan \"p\" {}\nlocals {\n s = " + strings.Repeat("try(", 90) + "tonumber(\"x\")" + strings.Repeat(")", 90) + "\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			res := loadText(src)
			if took := time.Since(start); took > planstest.Hang {
				t.Errorf("took %v", took)
			}
			if res.OK() || strings.Contains(planstest.Text(&res.Findings), "Internal error") {
				t.Errorf("ok %v\n%s", res.OK(), planstest.Text(&res.Findings))
			}
		})
	}
}

// TestIteratorsShadowBlocks explains what people run into with dynamic "feature".
func TestIteratorsShadowBlocks(t *testing.T) {
	res := loadText(`plan "p" {}
phase "p" {
  dynamic "feature" {
    for_each = ["b"]
    labels   = [feature.value]
    content {
      builds_on = feature.a
      set       = { k = "on" }
    }
  }
}
`)
	if text := strings.Join(strings.Fields(planstest.Text(&res.Findings)), " "); !strings.Contains(text, "Call the iterator something else: iterator = item.") {
		t.Error(text)
	}
}
