package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// comments say what the script is, and what it rests on that no script can hold.
func (s *script) comments() (lines []string) {
	what := s.variant + " of plan " + s.plan
	if len(s.stack) > 0 {
		what += ": baseline + " + strings.Join(s.stack, " + ")
	}
	lines = append(lines, what)
	var knobs []string
	for _, k := range slices.Sorted(maps.Keys(s.knobs)) {
		knobs = append(knobs, k+" = "+s.knobs[k])
	}
	if len(knobs) > 0 {
		lines = append(lines, "knobs: "+strings.Join(knobs, ", "))
	}
	lines = append(lines, fmt.Sprintf("engine: %s, launched by %s", s.engine, s.spec.How()))
	lines = append(lines, s.notes...)
	if src := s.spec.Source; src != nil {
		if src.Problem != "" {
			lines = append(lines, "source: "+src.Ref+" of "+src.Repo+", which cannot be resolved now: "+src.Problem)
		} else {
			lines = append(lines, fmt.Sprintf("source: commit %s (%s) of %s; check it out and build it:", src.Commit, src.Ref, src.Repo),
				fmt.Sprintf("  git -C %s worktree add --detach \"$MXFLOW_SOURCE\" %s", shellQuoted(src.Repo), src.Commit))
		}
		for _, argv := range src.Build {
			var words []word
			for _, arg := range argv {
				words = append(words, literal(arg))
			}
			lines = append(lines, "  "+commandText(words))
		}
		for _, name := range slices.Sorted(maps.Keys(src.Env)) {
			lines = append(lines, "  with "+name+"="+shellQuoted(src.Env[name])+" for the build")
		}
	}
	for _, t := range s.spec.Trees {
		lines = append(lines, "working tree "+t.Name+": "+t.Path+", hash "+t.Hash)
	}
	if c := s.spec.Caches; c != nil {
		lines = append(lines, "compile caches: "+c.State+", of each variant's own")
	}
	if e := s.spec.Endpoint; e != nil {
		lines = append(lines, "The engine is run by somebody else, at "+e.URL+".")
	}
	return s.commentLines(lines)
}

// commentLines keeps what is sensitive out of comments, and each on its line.
func (s *script) commentLines(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, strings.FieldsFunc(s.secrets.Text(line), func(r rune) bool { return r == '\n' || r == '\r' })...)
	}
	return out
}
