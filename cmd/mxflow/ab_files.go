package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// planIn is the plan for a file in a folder, which may not exist yet.
func (q *ab) planIn(folder, work string) ([]byte, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	return q.plan(whole, work)
}

func (a *app) dryAB(q *ab, at abPlace) error {
	text, err := q.planIn(".", at.work)
	if err == nil && q.writePlan != "" {
		return q.writeFor(at)
	}
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	return err
}

// writePlans writes the plan that is applied, and the one that was asked for.
func (q *ab) writePlans(at abPlace) error {
	text, err := q.planIn(at.folder, at.work)
	if err != nil {
		return err
	}
	if err := at.save(text); err != nil || q.writePlan == "" {
		return err
	}
	return q.writeFor(at)
}

// save writes the plan that is applied. The folder is no part of the source tree
// that it lies in.
func (at abPlace) save(text []byte) error {
	err := os.MkdirAll(at.folder, 0o755)
	if top := filepath.Dir(at.folder); err == nil && filepath.Base(top) == abFolder {
		err = os.WriteFile(filepath.Join(top, ".gitignore"), []byte("*\n"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(at.plan, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("the record cannot be kept: %w", err)
	}
	return nil
}

// writeFor writes the plan to the file of --write-plan.
func (q *ab) writeFor(at abPlace) error {
	text, err := q.planIn(filepath.Dir(q.writePlan), at.work)
	if err != nil {
		return err
	}
	return writePlanFile(q.writePlan, text)
}

// writePlanFile writes a file for --write-plan; one that is there already and differs
// is left alone.
func writePlanFile(path string, text []byte) error {
	if filepath.Ext(path) != ".hcl" {
		return fmt.Errorf("--write-plan: plans are written as .hcl, and %s is none (mxflow convert makes YAML of it)", path)
	}
	old, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err == nil:
		return fmt.Errorf("--write-plan: %s is there already and holds something else: name another file, or remove it", path)
	case errors.Is(err, fs.ErrNotExist):
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("--write-plan: %w", err)
	}
	return nil
}

// line is the command line again, as a person would write it, without what says
// only how it is shown or how far it goes.
func (q *ab) line() string {
	words := []string{"mxflow", "ab", "--a", shellQuote(q.a), "--b", shellQuote(q.b)}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, "--"+flag, shellQuote(value))
		}
	}
	for _, e := range q.env {
		add("env", e)
	}
	add("url", q.url)
	add("kind", q.asked)
	add("model", q.model)
	if q.api != "completions" {
		add("api", q.api)
	}
	add("pp", fmt.Sprint(q.pp))
	add("tg", fmt.Sprint(q.tg))
	if q.depth > 0 {
		add("depth", fmt.Sprint(q.depth))
	}
	if q.concurrency > 1 {
		add("concurrency", fmt.Sprint(q.concurrency))
	}
	if q.counted[0] {
		add("requests", fmt.Sprint(q.requests))
	}
	if q.counted[1] {
		add("warmup", fmt.Sprint(q.warmup))
	}
	if q.caches != "own" {
		add("caches", q.caches)
	}
	if q.metric != "tg" {
		add("metric", q.metric)
	}
	if q.claimed != "" {
		words = append(words, "--claim="+shellQuote(q.claimed))
	}
	for _, g := range q.mustSeeA {
		add("must-see-a", g)
	}
	for _, g := range q.mustSeeB {
		add("must-see-b", g)
	}
	add("changes", strings.Join(q.changes, ","))
	add("accept", strings.Join(q.accept, ","))
	add("coherence", q.coherence)
	add("expect", q.expect)
	if q.timeout > 0 {
		add("timeout", q.timeout.String())
	}
	if q.maxLag > 0 {
		add("max-lag", q.maxLag.String())
	}
	return strings.Join(words, " ")
}
