package tree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "# Page\n\nNumbers.\n\n<!-- keep notes -->\n<!-- /keep -->\n"

// TestWrite: what people write in keep regions stays; everything else that mxflow did not
// write is refused, before anything is written.
func TestWrite(t *testing.T) {
	other := strings.Replace(page, "Numbers", "Other numbers", 1)
	for _, c := range []struct {
		name   string
		change func(text string) string
		next   string
		force  bool
		want   string // of an error
		holds  string
	}{
		{name: "unchanged", next: page, holds: "Numbers."},
		{name: "new numbers", next: other, holds: "Other numbers."},
		{name: "a note", change: func(s string) string {
			return strings.Replace(s, "notes -->\n", "notes -->\nI doubt it.\n", 1)
		}, next: other, holds: "<!-- keep notes -->\nI doubt it.\n<!-- /keep -->"},
		{name: "a region of their own", change: func(s string) string {
			return strings.Replace(s, "Numbers.\n", "Numbers.\n\n<!-- keep own -->\nMine.\n<!-- /keep -->\n", 1)
		}, next: other, holds: "<!-- keep own -->\nMine.\n<!-- /keep -->"},
		{name: "a number", change: func(s string) string { return strings.Replace(s, "Numbers", "Better numbers", 1) }, next: other, want: "was edited after mxflow wrote it"},
		{name: "a number, force", change: func(s string) string {
			return strings.NewReplacer("Numbers", "Better numbers", "notes -->\n", "notes -->\nKept.\n").Replace(s)
		}, next: other, force: true, holds: "Kept."},
		{name: "somebody's own file", change: func(string) string { return "# Mine\n" }, next: other, want: "was not written by mxflow"},
		{name: "somebody's own file, force", change: func(string) string { return "# Mine\n" }, next: other, force: true, want: "was not written by mxflow"},
		{name: "an empty file", change: func(string) string { return "" }, next: other, want: "was not written by mxflow"},
		{name: "no end", change: func(s string) string { return strings.Replace(s, "<!-- /keep -->", "", 1) }, next: other, want: `page.md:5: the keep region "notes" has no end`},
		{name: "no beginning", change: func(s string) string { return strings.Replace(s, "<!-- keep notes -->", "", 1) }, next: other, want: "without a keep region"},
		{name: "one in another", change: func(s string) string {
			return strings.Replace(s, "notes -->\n", "notes -->\n<!-- keep two -->\n", 1)
		}, next: other, want: `page.md:6: a keep region starts inside "notes"`},
		{name: "one name twice", change: func(s string) string {
			return strings.Replace(s, "Numbers.\n", "<!-- keep notes -->\n<!-- /keep -->\n", 1)
		}, next: other, want: `duplicate keep region "notes"`},
	} {
		dir := t.TempDir()
		write := func(text string, force bool) ([]string, error) {
			return Write(dir, []File{{"new/first.md", text}, {"page.md", text}}, force)
		}
		if _, err := Write(dir, []File{{"page.md", page}}, false); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, "page.md")
		read := func() string {
			text, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		before := read()
		if c.change != nil {
			before = c.change(before)
			if err := os.WriteFile(at, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := write(c.next, c.force)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "new")); err == nil || read() != before {
				t.Errorf("%s: something was written", c.name)
			}
			continue
		}
		if err != nil || !strings.Contains(read(), c.holds) {
			t.Errorf("%s: %v, no %q in\n%s", c.name, err, c.holds, read())
		}
		after := read()
		if changed, err := write(c.next, false); err != nil || len(changed) > 0 || read() != after {
			t.Errorf("%s: written again: %v %v\n%s", c.name, changed, err, read())
		}
	}
}

// TestWriteLinks: nothing is written through a link.
func TestWriteLinks(t *testing.T) {
	for _, link := range []string{"porting", "porting/FEATURE_x.md"} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		_, err := Write(dir, []File{{"porting/FEATURE_x.md", page}}, true)
		if err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: %v", link, err)
		}
		if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
			t.Errorf("%s: written through", link)
		}
	}
}
