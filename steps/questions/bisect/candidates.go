package bisect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// Candidate is a version of the engine.
type Candidate struct {
	arms.Arm
	// ID is its short name for people, such as a shortened SHA, and Title what it is.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

// Commits are the commits from good to bad of a source of the plan's engine, each merge as
// one. An error says what is wrong with the refs.
func Commits(ctx context.Context, p *plans.Plan, name, good, bad string) ([]Candidate, error) {
	r, err := arms.Repo(ctx, p, name)
	if err != nil {
		return nil, err
	}
	var ends [2]string
	for i, ref := range []string{good, bad} {
		if ends[i], err = r.Commit(ctx, ref); err != nil {
			return nil, fmt.Errorf("--%s: %w; or give two files of package pins", []string{"good", "bad"}[i], err)
		}
	}
	if ends[0] == ends[1] {
		return nil, fmt.Errorf("--good %s and --bad %s are the same commit, %s", good, bad, source.Short(ends[0]))
	}
	base, err := r.Run(ctx, "merge-base", ends[0], ends[1])
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s and %s have no commit in common: --good must be an ancestor of --bad", good, bad)
	case base == ends[1]:
		return nil,
			fmt.Errorf("--good %s is newer than --bad %s: exchange them; to find what made it faster, exchange them "+
				"and turn the rule round", good, bad)
	case base != ends[0]:
		return nil,
			fmt.Errorf("--good %s is not an ancestor of --bad %s: their branches parted at %s; use --good %s if that "+
				"is good", good, bad, source.Short(base), source.Short(base))
	}
	log := func(revisions ...string) (list []Candidate, err error) {
		lines, err := r.List(ctx,
			append([]string{"log", "--first-parent", "--reverse", "-z", "--format=%H %s"}, revisions...)...)
		for _, line := range lines {
			sha, title, _ := strings.Cut(strings.TrimSpace(line), " ")
			list = append(list, Candidate{Arm: arms.Arm{Ref: sha}, ID: sha[:min(8, len(sha))], Title: title})
		}
		return list, err
	}
	first, err := log("-1", ends[0])
	if err != nil {
		return nil, err
	}
	rest, err := log(ends[0] + ".." + ends[1])
	return named(append(first, rest...)), err
}

// Images are those that a file lists, one on each line from good to bad, or the part of them
// between two.
func Images(file, good, bad string) ([]Candidate, error) {
	lines, err := linesOf(file)
	if err != nil {
		return nil, fmt.Errorf("--images: %w", err)
	}
	from, to := 0, len(lines)-1
	for _, end := range []struct {
		flag, image string
		at          *int
	}{{"good", good, &from}, {"bad", bad, &to}} {
		if end.image == "" {
			continue
		}
		if *end.at = slices.Index(lines, end.image); *end.at < 0 {
			return nil, fmt.Errorf("--%s: %s is not a line of %s", end.flag, end.image, file)
		}
	}
	if from >= to {
		return nil,
			fmt.Errorf("%s lists no image after the good one that could be bad: write one on each line, from good to "+
				"bad", file)
	}
	var list []Candidate
	for _, image := range lines[from : to+1] {
		list = append(list, Candidate{Arm: arms.Arm{Image: image}, ID: image})
	}
	return named(list), nil
}

// Pins are the files of package pins between two, each with one more pin of the bad one, in
// the order of the good one. They are written to a folder, where builds find them.
func Pins(good, bad, folder string) ([]Candidate, error) {
	before, err := linesOf(good)
	if err != nil {
		return nil, err
	}
	after, err := linesOf(bad)
	if err != nil {
		return nil, err
	}
	pins := func(lines []string) (names []string, of map[string]string) {
		of = map[string]string{}
		for _, line := range lines {
			name := strings.ToLower(line[:len(line)-len(strings.TrimLeft(line, nameLetters))])
			names, of[name] = append(names, name), line
		}
		return names, of
	}
	names, is := pins(before)
	newNames, will := pins(after)
	for _, name := range newNames {
		if _, has := is[name]; !has {
			names = append(names, name)
		}
	}
	list := []Candidate{{ID: filepath.Base(good), Title: "all pins of " + good}}
	texts := []string{join(names, is)}
	for _, name := range names {
		if is[name] == will[name] {
			continue
		}
		title := fmt.Sprintf("%s → %s", cmp.Or(is[name], "no "+name), cmp.Or(will[name], "no "+name))
		if is[name] = will[name]; will[name] == "" {
			delete(is, name)
		}
		texts = append(texts, join(names, is))
		list = append(list, Candidate{ID: name, Title: title})
	}
	if len(list) == 1 {
		return nil, fmt.Errorf("%s and %s pin the same packages", good, bad)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	for i, text := range texts {
		sum := sha256.Sum256([]byte(text))
		path, err := filepath.Abs(filepath.Join(folder, hex.EncodeToString(sum[:6])+".txt"))
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return nil, err
		}
		list[i].Pins = path
	}
	return named(list), nil
}

// nameLetters are those of a package's name, after which its version follows.
const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-[],"

func join(names []string, of map[string]string) string {
	var b strings.Builder
	for _, name := range names {
		if of[name] != "" {
			fmt.Fprintln(&b, of[name])
		}
	}
	return b.String()
}

// linesOf are the lines of a file, without comments and empty ones.
func linesOf(file string) (lines []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s is not a text file", file)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, errors.New(file + " is empty")
	}
	return lines, nil
}

// named gives the candidates the names that they have in questions and on record.
func named(list []Candidate) []Candidate {
	for i := range list {
		list[i].Name = fmt.Sprintf("c%04d", i)
		if list[i].Ref != "" {
			list[i].Name += "_" + list[i].ID
		}
	}
	return list
}
