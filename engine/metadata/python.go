package metadata

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	packagesLimit = time.Minute
	// torchLimit is long: the first import reads gigabytes from a cold disk.
	torchLimit = 2 * time.Minute
)

// listPackages prints what is installed, as JSON. It needs no pip.
//
//go:embed packages.py
var listPackages string

// askTorch prints the versions that PyTorch was built with, as JSON. It sees no
// GPU, so that it takes no memory there.
//
//go:embed versions.py
var askTorch string

// installed is what packages.py prints.
type installed struct {
	Python     string   `json:"python"`
	Executable string   `json:"executable"`
	Packages   []string `json:"packages"`
}

// pythons are tried where the plan's command does not show an interpreter.
var pythons = [][]string{{"python3"}, {"python"}}

// python reads packages and library versions where the engine lives. What an
// image holds does not change, so that it is asked for once per image.
func (c *Collector) python(ctx context.Context, q *Request, d *Document) {
	found, err := c.packages(ctx, q)
	if err != nil {
		d.Lack("packages", err.Error())
		return
	}
	d.Packages = found.Packages
	d.software("python", found.Python)
	if !slices.ContainsFunc(found.Packages, func(p string) bool { return strings.HasPrefix(p, "torch==") || strings.HasPrefix(p, "torch @") }) {
		d.Lack("torch", "it is not installed where the engine lives")
		return
	}
	if found.Executable == "" {
		d.Lack("torch", "no interpreter to ask")
		return
	}
	versions, err := c.torch(ctx, q, found)
	if err != nil {
		d.Lack("torch", err.Error())
	}
	for _, name := range keys(versions) {
		d.software(name, versions[name])
	}
}

func (c *Collector) packages(ctx context.Context, q *Request) (installed, error) {
	key := "packages " + q.Image + " " + strings.Join(q.Python, " ")
	if kept, ok := c.kept(key).(installed); ok && q.Image != "" {
		return kept, nil
	}
	interpreters := pythons
	if len(q.Python) > 0 {
		interpreters = append([][]string{q.Python}, pythons...)
	}
	var why []string
	for _, python := range interpreters {
		out, err := q.Engine.text(ctx, packagesLimit, append(slices.Clone(python), "-c", listPackages)...)
		var found installed
		if err == nil {
			err = json.Unmarshal([]byte(last(out)), &found)
		}
		if err != nil {
			why = append(why, fmt.Sprintf("%s: %v", strings.Join(python, " "), err))
			continue
		}
		c.keep(key, found)
		return found, nil
	}
	for _, argv := range [][]string{{"uv", "pip", "freeze"}, {"pip", "freeze"}, {"conda", "list", "--export"}} {
		out, err := q.Engine.text(ctx, packagesLimit, argv...)
		if err != nil {
			continue
		}
		found := installed{Packages: lines(out)}
		if len(found.Packages) > 0 {
			c.keep(key, found)
			return found, nil
		}
	}
	return installed{}, fmt.Errorf("no Python could list them: %s", strings.Join(why, "; "))
}

// torch asks PyTorch itself: importing it takes seconds, so the answer is kept
// while what is installed stays as it is.
func (c *Collector) torch(ctx context.Context, q *Request, found installed) (map[string]string, error) {
	key := "torch " + q.Image + " " + found.Executable + " " + digest([]byte(strings.Join(found.Packages, "\n")))
	if kept, ok := c.kept(key).(map[string]string); ok {
		return kept, nil
	}
	out, err := q.Engine.text(ctx, torchLimit, found.Executable, "-c", askTorch)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	if err := json.Unmarshal([]byte(last(out)), &versions); err != nil {
		return nil, fmt.Errorf("its answer is not understood: %w", err)
	}
	c.keep(key, versions)
	return versions, nil
}

// lines are the lines that say something, sorted.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
