package work

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/source"
)

// outcome is what became of a commit's lines in another commit.
type outcome string

const (
	// Still: at the same line of the same file.
	Still outcome = "still"
	// Moved: at another line or in another file.
	Moved outcome = "moved"
	// Changed: there is something similar in its place.
	Changed outcome = "changed"
	Gone    outcome = "gone"
)

// Place is where lines start in a commit.
type Place struct {
	File string
	Line int // counted from 1
	// Text of these lines, cut if there are many.
	Text string
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// trackedPlace is one place of a snippet and its fate.
type trackedPlace struct {
	Was  Place
	Fate outcome
	// Now is where it is, or what is similar; empty if it is gone.
	Now Place
}

// maxPlaces limits the occurrences of a snippet in a commit: with more it is too
// unspecific.
const maxPlaces = 50

// track finds a snippet in the files of a commit that match a glob, and each of these
// places in another commit. Each line of the snippet must be contained in a line of the
// file, consecutively, however they are indented; white space counts as one space.
// Finding none is not an error.
func track(ctx context.Context, r *source.Repo, snippet, glob, from, to string) (all []trackedPlace, err error) {
	want := split(snippet)
	inGlob := func(p Place) bool { ok, _ := path.Match(glob, p.File); return ok }
	was, err := places(ctx, r, want, from)
	if err != nil {
		return nil, err
	}
	var others []Place // which were not asked for, and to which nothing else moved
	was = slices.DeleteFunc(was, func(p Place) bool {
		if !inGlob(p) {
			others = append(others, p)
		}
		return !inGlob(p)
	})
	if len(was) == 0 {
		return nil, nil
	}
	if len(was) > maxPlaces {
		return nil, &source.Error{Around: true, Reason: fmt.Sprintf("the snippet occurs in %s %d times: make it longer, or narrow the file", source.Short(from), len(was))}
	}
	now, err := places(ctx, r, want, to)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if i := slices.IndexFunc(now, func(p Place) bool { return p.File == other.File }); i >= 0 {
			now = slices.Delete(now, i, i+1)
		}
	}
	all = make([]trackedPlace, len(was))
	for i, p := range was {
		all[i] = trackedPlace{Was: p, Fate: Gone}
	}
	// The nearest goes first, so no place is mistaken for one that moved there.
	for _, near := range []func(p, q Place) bool{
		func(p, q Place) bool { return p.File == q.File && p.Line == q.Line },
		func(p, q Place) bool { return p.File == q.File },
		func(_, q Place) bool { return inGlob(q) },
		func(_, _ Place) bool { return true },
	} {
		for i := range all {
			f := &all[i]
			at := slices.IndexFunc(now, func(q Place) bool { return near(f.Was, q) })
			if f.Fate != Gone || at < 0 {
				continue
			}
			f.Fate, f.Now = Moved, now[at]
			if f.Now.String() == f.Was.String() {
				f.Fate = Still
			}
			now = slices.Delete(now, at, at+1)
		}
	}
	for i := range all {
		if f := &all[i]; f.Fate == Gone {
			text, err := textOf(ctx, r, to, f.Was.File)
			if err != nil {
				return nil, err
			}
			if at, ok := bestMatch(want, text); ok {
				at.File = f.Was.File
				f.Fate, f.Now = Changed, at
			}
		}
	}
	return all, nil
}

// textOf is the text of a file in a commit, empty if it does not exist.
func textOf(ctx context.Context, r *source.Repo, commit, file string) (string, error) {
	list, err := r.List(ctx, "ls-tree", "-z", "--name-only", commit, "--", file)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return r.Run(ctx, "cat-file", "blob", commit+":"+file)
}

// places finds a snippet in all text files of a commit.
func places(ctx context.Context, r *source.Repo, want []string, commit string) (all []Place, err error) {
	list, err := r.List(ctx, "grep", "-I", "-l", "-z", "-F", "-e", longestWord(want), commit)
	if failed, ok := errors.AsType[*source.Error](err); ok && failed.Exit == 1 {
		return nil, nil // none
	}
	if err != nil {
		return nil, err
	}
	for _, name := range list {
		file := strings.TrimPrefix(name, commit+":")
		text, err := textOf(ctx, r, commit, file)
		if err != nil {
			return nil, err
		}
		for _, p := range find(want, text) {
			p.File = file
			all = append(all, p)
		}
	}
	return all, nil
}

// split is a snippet's lines without what is not compared.
func split(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// find returns where a file has all lines of a snippet.
func find(want []string, text string) (all []Place) {
	has := strings.Split(text, "\n")
next:
	for i := 0; i+len(want) <= len(has); i++ {
		for j, line := range want {
			if !strings.Contains(strings.Join(strings.Fields(has[i+j]), " "), line) {
				continue next
			}
		}
		all = append(all, place(has[i:i+len(want)], i))
	}
	return all
}

// shown is how much of a place's text is kept, in bytes.
const shown = 200

func place(lines []string, at int) Place {
	text := strings.Join(split(strings.Join(lines, "\n")), " ⏎ ")
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return Place{Line: at + 1, Text: text}
}

// word matches the unit of comparison between lines: names are split, so a partly renamed
// one is similar.
var word = regexp.MustCompile(`[\pL\pN]+`)

// longestWord is a word that every line with the snippet contains.
func longestWord(lines []string) (longest string) {
	for _, w := range word.FindAllString(strings.Join(lines, "\n"), -1) {
		if len(w) > len(longest) {
			longest = w
		}
	}
	return longest
}

// alikeFrom is the share of a snippet's words, by length, that similar lines need.
const alikeFrom = 0.6

// bestMatch is where a file has the most of a snippet's words within as many lines, if that
// is enough.
func bestMatch(want []string, text string) (best Place, ok bool) {
	words, whole := map[string]int{}, 0
	for _, w := range word.FindAllString(strings.Join(want, "\n"), -1) {
		words[w]++
		whole += len(w)
	}
	has := strings.Split(text, "\n")
	most := 0
	for i := 0; i+len(want) <= len(has); i++ {
		left, found := map[string]int{}, 0
		for _, line := range has[i : i+len(want)] {
			for _, w := range word.FindAllString(line, -1) {
				if left[w] < words[w] {
					left[w]++
					found += len(w)
				}
			}
		}
		if found > most {
			most, best = found, place(has[i:i+len(want)], i)
		}
	}
	return best, float64(most) >= alikeFrom*float64(max(whole, 1))
}
