package main

import (
	"bytes"
	"embed"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
)

// scaffolds are plans to begin with: one for a kind by its name, or the
// template for servers.
//
//go:embed scaffold
var scaffolds embed.FS

// scaffoldPlan is a plan to begin with for a kind of engine.
func scaffoldPlan(k kinds.Kind) ([]byte, error) {
	if text, err := scaffolds.ReadFile("scaffold/" + k.Name + ".hcl"); err == nil {
		return text, nil
	}
	t, err := template.New("server.hcl.tmpl").Funcs(template.FuncMap{"comment": comment}).ParseFS(scaffolds, "scaffold/server.hcl.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		kinds.Kind
		Timeout string
		Server  server
	}{k, shortDuration(k.DefaultReadyTimeout), servers[k.Name]})
	return b.Bytes(), err
}

// runsAsIs tells a kind whose scaffold needs nothing filled in.
func runsAsIs(kind string) bool {
	_, err := scaffolds.ReadFile("scaffold/" + kind + ".hcl")
	return err == nil
}

var zeroUnits = regexp.MustCompile(`([hm])0[ms].*$`)

// shortDuration is 15m where Go says 15m0s.
func shortDuration(d time.Duration) string { return zeroUnits.ReplaceAllString(d.String(), "$1") }

// comment breaks a paragraph into lines that begin with #.
func comment(text string) string {
	const most = 80
	var lines []string
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > most {
			lines = append(lines, line)
			line = "#"
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}
