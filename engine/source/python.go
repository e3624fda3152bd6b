package source

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// imports is where an interpreter imports from: its packages, and the folders outside of
// these, by PYTHONPATH, .pth files and editable installs.
type imports struct{ packages, roots, sites []string }

// importedBy reads what the interpreter at a path imports from, by the names of what pip
// writes beside it. A Python program is a few lines that import the rest, so its own file
// says little. https://packaging.python.org/en/latest/specifications/direct-url/ and
// https://docs.python.org/3/library/site.html
func importedBy(interpreter string, env func(name string) string) (p imports) {
	for _, dir := range filepath.SplitList(env("PYTHONPATH")) {
		p.root(dir)
	}
	p.sites = sites(interpreter, env)
	for _, site := range p.sites {
		installed, _ := filepath.Glob(filepath.Join(site, "*.dist-info"))
		for _, dir := range installed {
			p.packages = append(p.packages, filepath.Join(dir, "METADATA"))
			p.root(editable(filepath.Join(dir, "direct_url.json")))
		}
		for _, pattern := range []string{"*.pth", "*.egg-link"} {
			added, _ := filepath.Glob(filepath.Join(site, pattern))
			for _, file := range added {
				text, _ := os.ReadFile(file)
				for line := range strings.Lines(string(text)) {
					if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !filepath.IsAbs(line) {
						line = filepath.Join(site, line)
					}
					p.root(line)
				}
			}
		}
		p.roots = slices.DeleteFunc(p.roots, func(root string) bool { return root == site || strings.HasPrefix(root, site+"/") })
	}
	slices.Sort(p.packages)
	return p
}

// root adds a folder that exists.
func (p *imports) root(dir string) {
	if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() && !slices.Contains(p.roots, filepath.Clean(dir)) {
		p.roots = append(p.roots, filepath.Clean(dir))
	}
}

// editable is the folder of a package that is installed in place, empty for another.
func editable(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var direct struct {
		URL string `json:"url"`
		Dir struct {
			Editable bool `json:"editable"`
		} `json:"dir_info"`
	}
	if json.Unmarshal(text, &direct) != nil || !direct.Dir.Editable {
		return ""
	}
	from, err := url.Parse(direct.URL)
	if err != nil || from.Scheme != "file" {
		return ""
	}
	return from.Path
}

// sites are the folders of an interpreter's packages: its environment's, those below it if
// it shares them, Debian's, and the user's.
func sites(interpreter string, env func(name string) string) (dirs []string) {
	prefixes := []string{filepath.Dir(filepath.Dir(interpreter))}
	text, _ := os.ReadFile(filepath.Join(prefixes[0], "pyvenv.cfg")) // one without it is in no environment
	isolated := false
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, "=")
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "home":
			prefixes = append(prefixes, filepath.Dir(value))
		case "include-system-site-packages":
			isolated = !strings.EqualFold(value, "true")
		}
	}
	if isolated {
		prefixes = prefixes[:1]
	} else if home, none := os.UserHomeDir(); none == nil && env("PYTHONNOUSERSITE") == "" {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	if slices.Contains(prefixes, "/usr") {
		prefixes = append(prefixes, "/usr/local")
	}
	for _, prefix := range prefixes {
		for _, folder := range []string{"site-packages", "dist-packages"} {
			found, _ := filepath.Glob(filepath.Join(prefix, "lib", "python*", folder))
			dirs = append(dirs, found...)
		}
	}
	return dirs
}
