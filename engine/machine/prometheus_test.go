package machine

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	for page, want := range map[string]string{
		"":                "",
		"# only\n\n \t\n": "",
		"a 1\n":           "a map[] 1;",
		"a{} 1\n":         "a map[] 1;",
		"\ta:b_c \t{ x = \"y\" , z=\"\" , } -2.5e3 1700000000000\n": "a:b_c map[x:y z:] -2500;",
		`a{x="\\ \" \n }"} 1` +
			"\n": "a map[x:\\ \" \n }] 1;",
		"a 1\r\nb 2 1700000000.123\r\n" +
			"c_bucket{le=\"1\"} 3 # {trace_id=\"x\"} 0.5 1700000000.1\n": "a map[] 1;b map[] 2;c_bucket map[le:1] 3;",
		"a{x=\"→\"}+Inf\na -Inf\na NaN\n": "a map[x:→] +Inf;a map[] -Inf;a map[] NaN;",
		"# HELP h of {\n# TYPE h histogram\n" +
			"h_bucket{le=\"+Inf\"} 3\nh_sum 1.5\nh_count 3\n# EOF\n": "h_bucket map[le:+Inf] 3;h_sum map[] " +
			"1.5;h_count map[] 3;",
	} {
		all, _, err := ParseMetrics(page, nil)
		got := ""
		for _, m := range all {
			got += fmt.Sprint(m.Name, " ", m.Labels, " ", m.Value, ";")
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", page, got, err, want)
		}
	}
	for _, bad := range []string{
		"a 1", "a\n", "a \n", "a one\n", "a 1 2 3\n", "a 1 2.5.1\n", "a 1\rb\n", "a 0x1p-2\n", "a 1_0\n", "a 1e999\n",
		"1a 1\n", "a-b 1\n", "<html>\n", `{"a": 1}` + "\n",
		"a{ 1\n", "a{x} 1\n", "a{x=y} 1\n", "a{x=\"y} 1\n", "a{x=\"y\" 1\n", "a{x=\"y\"z=\"\"} 1\n", "a{,} 1\n",
		"a{x=\"\\t\"} 1\n", "a{x=\"\\", "a{1x=\"\"} 1\n",
		"a{x=\"\",x=\"\"} 1\n", "a{__name__=\"\"} 1\n", "a{x=\"\xff\"} 1\n", "a{x=\"y\"}\n",
	} {
		all, unread, err := ParseMetrics("x 1\n"+bad, nil)
		if err == nil || unread != 1 || len(all) != 1 {
			t.Errorf("%q: %v, %d unread", bad, all, unread)
		}
	}
	some, _, err := ParseMetrics("broken {\nwanted 5\nwanted_too 6\n", func(name string) bool {
		return name == "wanted"
	})
	if err != nil || len(some) != 1 || some[0].Value != 5 {
		t.Errorf("%v, %v", some, err)
	}
}

// What is read can be written and read again.
func FuzzParseMetrics(f *testing.F) {
	f.Add(vllmPage)
	f.Add("a{b=\"\\n\",c=\"}\"} NaN 5\n# EOF\n")
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	f.Fuzz(func(t *testing.T, page string) {
		all, _, _ := ParseMetrics(page, nil)
		for _, m := range all {
			line := m.Name + "{"
			for name, value := range m.Labels {
				line += name + `="` + escape.Replace(value) + `",`
			}
			again, _, err := ParseMetrics(fmt.Sprintf("%s} %v\n", line, m.Value), nil)
			if err != nil || len(again) != 1 || again[0].Name != m.Name ||
				fmt.Sprint(again[0].Labels) != fmt.Sprint(m.Labels) ||
				math.Float64bits(again[0].Value) != math.Float64bits(m.Value) && m.Value == m.Value {
				t.Errorf("%q: %+v, then %+v, %v", page, m, again, err)
			}
		}
	})
}
