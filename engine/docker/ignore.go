package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// ignored are the patterns of a .dockerignore file. A later pattern that matches
// overrules an earlier one.
type ignored struct {
	patterns []ignorePattern
	// exceptions says that some pattern takes back what another one ignores, so
	// that no folder can be passed over as a whole.
	exceptions bool
}

type ignorePattern struct {
	exception bool
	match     *regexp.Regexp
}

// readIgnored reads a .dockerignore file; without one nothing is ignored.
func readIgnored(file string) (ignored, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return ignored{}, nil
	}
	if err != nil {
		return ignored{}, err
	}
	g, err := parseIgnored(string(text))
	if err != nil {
		return g, fmt.Errorf("%s: %w", file, err)
	}
	return g, nil
}

// parseIgnored reads what `docker build` documents: a pattern a line, # for
// comments, ! for exceptions, and every pattern as if it began at the root of
// the context.
func parseIgnored(text string) (ignored, error) {
	var g ignored
	text = strings.TrimPrefix(text, "\ufeff")
	for n, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSpace(line)
		exception := strings.HasPrefix(line, "!")
		line = strings.TrimSpace(strings.TrimPrefix(line, "!"))
		if line == "" {
			continue
		}
		line = strings.TrimPrefix(path.Clean(line), "/")
		match, err := ignoreRegexp(line)
		if err != nil {
			return g, fmt.Errorf("line %d: %q is no pattern: %w", n+1, line, err)
		}
		g.patterns = append(g.patterns, ignorePattern{exception, match})
		g.exceptions = g.exceptions || exception
	}
	return g, nil
}

// ignoreRegexp is a pattern as an expression over slash-separated paths: ** goes
// over any number of folders, * and ? stay within one, [a-z] is one of a set.
func ignoreRegexp(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`\A`)
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?s:.*/)?`)
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`(?s:.*)`)
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString(`[^/]`)
			rest = rest[1:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 2 {
				return nil, errors.New("a [ has no ] after it")
			}
			b.WriteString(rest[:end+1])
			rest = rest[end+1:]
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			rest = rest[2:]
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	b.WriteString(`\z`)
	return regexp.Compile(b.String())
}

// covers reports whether a path (slashes, relative to the context) is ignored,
// by itself or with a folder that it lies in.
func (g ignored) covers(name string) bool {
	out := false
	for _, p := range g.patterns {
		if p.exception != out {
			continue // it would change nothing
		}
		for part := name; part != "."; part = path.Dir(part) {
			if p.match.MatchString(part) {
				out = !p.exception
				break
			}
		}
	}
	return out
}
