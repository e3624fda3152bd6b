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
	Gone  outcome = "gone"
)

// Place is where lines start in a commit.
type Place struct {
	File string
	Line int // counted from 1
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// trackedPlace is one place of a snippet and its fate.
type trackedPlace struct {
	Was  Place
	Fate outcome
	// Now is where it is; empty if it is gone.
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
		return nil,
			&source.Error{
				Around: true,
				Reason: fmt.Sprintf("the snippet occurs in %s %d times: make it longer, or narrow the file",
					source.Short(from), len(was)),
			}
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
	return all, nil
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
		text, err := r.Run(ctx, "cat-file", "blob", name)
		if err != nil {
			return nil, err
		}
		all = append(all, find(want, file, text)...)
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
func find(want []string, file, text string) (all []Place) {
	has := strings.Split(text, "\n")
next:
	for i := 0; i+len(want) <= len(has); i++ {
		for j, line := range want {
			if !strings.Contains(strings.Join(strings.Fields(has[i+j]), " "), line) {
				continue next
			}
		}
		all = append(all, Place{file, i + 1})
	}
	return all
}

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
