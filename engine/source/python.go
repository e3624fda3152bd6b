package source

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// imports adds where an interpreter imports from: the folders that packages are installed in,
// and those outside of these, by PYTHONPATH, .pth files and editable installs. A Python program
// is a few lines that import the rest, so its own file says little.
// https://packaging.python.org/en/latest/specifications/direct-url/ and
// https://docs.python.org/3/library/site.html
func (code *Code) imports(interpreter string, c Command) {
	all, libraries := sites(interpreter, c)
	for _, site := range all {
		code.Add(site, HoldsPackages)
	}
	for _, dir := range libraries {
		code.Add(dir, HoldsLibrary)
	}
	add := func(from, to string) {
		if to = strings.TrimSpace(to); to != "" && !filepath.IsAbs(to) {
			to = filepath.Join(from, to)
		}
		switch info, err := os.Stat(to); {
		case to == "":
		case err != nil:
			if from == c.Dir && filepath.Ext(to) == "" { // of PYTHONPATH: somebody may make it
				code.Add(filepath.Clean(to), HoldsAll)
			}
		case info.IsDir():
			holds := HoldsAll
			if packages, _ := filepath.Glob(filepath.Join(to, "*.dist-info")); packages != nil {
				holds = HoldsPackages
			}
			code.Add(filepath.Clean(to), holds)
		case info.Mode().IsRegular(): // a zip file
			code.Files = append(code.Files, to)
		}
	}
	for _, dir := range filepath.SplitList(c.Env("PYTHONPATH")) {
		add(c.Dir, dir)
	}
	for _, site := range all {
		installed, _ := filepath.Glob(filepath.Join(site, "*.dist-info", "direct_url.json"))
		for _, path := range installed {
			add(site, editable(path))
		}
		for _, pattern := range []string{"*.pth", "*.egg-link"} {
			added, _ := filepath.Glob(filepath.Join(site, pattern))
			for _, file := range added {
				text, _ := os.ReadFile(file)
				for line := range strings.Lines(string(text)) {
					if line[0] != '#' {
						add(site, line)
					}
				}
			}
		}
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
// it shares them, Debian's, and the user's, also one that is not there yet, since whoever makes
// it can put a usercustomize.py in. libraries are Python's own, which a sitecustomize.py may be in.
func sites(interpreter string, c Command) (dirs, libraries []string) {
	prefixes := []string{filepath.Dir(filepath.Dir(interpreter))}
	text, err := os.ReadFile(filepath.Join(prefixes[0], "pyvenv.cfg"))
	if real, links := filepath.EvalSymlinks(interpreter); err != nil && links == nil { // it is in no environment
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
	}
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
	for _, prefix := range prefixes {
		for _, lib := range []string{"lib", "lib64"} {
			found, _ := filepath.Glob(filepath.Join(prefix, lib, "python3.*", "site.py"))
			for _, file := range found {
				if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil &&
					!slices.Contains(libraries, real) {
					libraries = append(libraries, real)
				}
			}
		}
	}
	if isolated {
		prefixes = prefixes[:1]
	} else if home, none := os.UserHomeDir(); c.Env("PYTHONNOUSERSITE") == "" {
		if base := c.Env("PYTHONUSERBASE"); base != "" || none == nil {
			if base = cmp.Or(base, filepath.Join(home, ".local")); !filepath.IsAbs(base) {
				base = filepath.Join(c.Dir, base)
			}
			prefixes = append(prefixes, base)
			for _, library := range libraries {
				site := filepath.Join(base, "lib", filepath.Base(library), "site-packages")
				if _, err := os.Stat(site); err != nil && !slices.Contains(dirs, site) {
					dirs = append(dirs, site)
				}
			}
		}
	}
	if slices.Contains(prefixes, "/usr") {
		prefixes = append(prefixes, "/usr/local")
	}
	for _, prefix := range prefixes {
		for _, folder := range []string{"lib/python*/site-", "lib/python*/dist-", "lib64/python*/site-"} {
			found, _ := filepath.Glob(filepath.Join(prefix, folder+"packages"))
			for _, dir := range found {
				if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(dirs, real) {
					dirs = append(dirs, real)
				}
			}
		}
	}
	return dirs, libraries
}
