// Package seal compares a plan with what a person signed: rules, workloads, protocols,
// decision, targets and engines must be unchanged, while a proposer may add features and
// values of the knobs that the seal names. It signs nothing and reads no keys.
package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
)

// Format is the format of seals.
const Format = "mxflow.seal/1"

// Seal is what a person signs.
type Seal struct {
	Format string    `json:"format"`
	Plan   string    `json:"plan"`
	By     string    `json:"by"`
	Time   time.Time `json:"time"`
	// Digest is the SHA-256 over the judged parts, in hex.
	Digest string `json:"digest"`
	Limits Limits `json:"limits"`
	// FalsePass is the plan's false-pass rate, for one proposal.
	FalsePass float64 `json:"false_pass"`
	Judged    []Part  `json:"judged"`
}

// Part is one thing that a plan sets, and its place.
type Part struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// Limits are what a proposer may do.
type Limits struct {
	// Knobs are the knobs whose values may be added and changed, all but the default. A
	// knob may be given with one value: "gemm.fast".
	Knobs []string `json:"knobs,omitempty"`
	// Sources are engines ("kind.name") whose source may be changed.
	Sources []string `json:"sources,omitempty"`
	// Features is how many may be proposed.
	Features int `json:"features"`
	// Launches and Hours bound all applies under the seal together; 0 is no limit.
	Launches int     `json:"launches,omitempty"`
	Hours    float64 `json:"hours,omitempty"`
}

// Change is one thing that differs from what was sealed.
type Change struct {
	Path string `json:"path"`
	// Was and Is are as a plan would write them, empty if absent.
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Limit is the limit of the seal that it exceeds, empty if none applies.
	Limit string `json:"limit,omitempty"`
}

func Of(p *plans.Plan, limits Limits) (*Seal, error) {
	for _, k := range limits.Knobs {
		name, value, one := strings.Cut(k, ".")
		knob := p.Knob(name)
		switch {
		case knob == nil:
			return nil, fmt.Errorf("the plan has no knob %q; it has: %s", name,
				strings.Join(plans.Names(p.Knobs, func(k *plans.Knob) string { return k.Name }), ", "))
		case one && value == knob.Default:
			return nil,
				fmt.Errorf("%s is the default of knob %s, part of the sealed baseline; name another value", value, name)
		}
	}
	for _, e := range limits.Sources {
		if p.Engine(e) == nil {
			return nil, fmt.Errorf("the plan has no engine %q (kind.name)", e)
		}
	}
	if limits.Features < 0 || limits.Launches < 0 || limits.Hours < 0 || math.IsNaN(limits.Hours) ||
		math.IsInf(limits.Hours, 0) {
		return nil, errors.New("limits of a seal must be finite and not negative")
	}
	s := &Seal{
		Format: Format, Plan: p.Name, Limits: limits, FalsePass: plans.UsualDecision().FalsePass,
		Judged: []Part{},
	}
	if p.Decision != nil {
		s.FalsePass = p.Decision.FalsePass
	}
	all, err := parts(p)
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		if !s.free(p, j.Path) {
			s.Judged = append(s.Judged, j)
		}
	}
	s.Digest = digest(s.Judged)
	return s, nil
}

// Rules is the digest of what judges in a plan that nobody sealed: of all but the values of its knobs,
// other than their defaults.
func Rules(p *plans.Plan) (string, error) {
	all, err := parts(p)
	if err != nil {
		return "", err
	}
	defaults := map[string]string{}
	for _, k := range p.Knobs {
		defaults[k.Name] = k.Default
	}
	return digest(slices.DeleteFunc(all, func(j Part) bool {
		of, is := strings.CutPrefix(j.Path, "knob.")
		name, at, value := strings.Cut(of, ".value.")
		standard, known := defaults[name]
		return is && value && known && at != standard && !strings.HasPrefix(at, standard+".")
	})), nil
}

func Read(text []byte) (*Seal, error) {
	s := &Seal{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("not a seal: %w", err)
	}
	switch {
	case s.Format != Format:
		return nil, fmt.Errorf("seal format is %q, but this mxflow reads %s; seal again", s.Format, Format)
	case s.Digest != digest(s.Judged) || len(s.Judged) == 0:
		return nil, errors.New("the seal's digest does not match its content; seal again")
	}
	return s, nil
}

// Text is a seal in the form that Read accepts.
func (s *Seal) Text() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(s)
	return b.Bytes(), err
}

// AllTries is the chance that a feature without a gain passes in any of its tries.
func (s *Seal) AllTries() float64 {
	bound, _ := stats.Bound(s.FalsePass)
	return bound
}

// Chance bounds the chance that any proposal that gains nothing passes in any of its tries.
func (s *Seal) Chance() float64 { return math.Min(1, float64(s.Limits.Features)*s.AllTries()) }

// Changes are the plan's differences from what was sealed, beyond the limits.
func (s *Seal) Changes(p *plans.Plan) ([]Change, error) {
	all, err := parts(p)
	if err != nil {
		return nil, err
	}
	was, is := byPath(s.Judged), byPath(all)
	var moved []Change
	if p.Name != s.Plan {
		moved = append(moved,
			Change{Path: "plan", Was: s.Plan, Is: p.Name, File: p.Range.File, Line: p.Range.Start.Line})
	}
	for _, j := range s.Judged {
		if now, there := is[j.Path]; !there {
			moved = append(moved, Change{Path: j.Path, Was: j.Value, File: j.File, Line: j.Line})
		} else if now.Value != j.Value {
			moved = append(moved, Change{Path: j.Path, Was: j.Value, Is: now.Value, File: now.File, Line: now.Line})
		}
	}
	proposed := s.Proposed(p)
	for _, j := range all {
		if _, sealed := was[j.Path]; sealed || s.free(p, j.Path) || slices.ContainsFunc(proposed,
			func(f *plans.Feature) bool { return strings.HasPrefix(j.Path, pathOf(f)+".") }) {
			continue
		}
		moved = append(moved, Change{Path: j.Path, Is: j.Value, File: j.File, Line: j.Line})
	}
	for i, f := range proposed {
		if i >= s.Limits.Features {
			moved = append(moved, Change{
				Path: pathOf(f), Is: "{…}", File: f.Range.File, Line: f.Range.Start.Line,
				Limit: fmt.Sprintf("features = %d", s.Limits.Features),
			})
			continue
		}
		moved = append(moved, s.exceeds(f, is)...)
	}
	return moved, nil
}

func (s *Seal) Proposed(p *plans.Plan) (list []*plans.Feature) {
	sealed := s.features("")
	for _, f := range p.Features() {
		if !slices.Contains(sealed, pathOf(f)) {
			list = append(list, f)
		}
	}
	return list
}

// exceeds is what a proposed feature has that none may: it may set only knobs of the
// limits, and must be judged and compared like a sealed feature of its phase.
func (s *Seal) exceeds(f *plans.Feature, is map[string]Part) (moved []Change) {
	path := pathOf(f)
	own := partsUnder(is, path)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		j := own[name]
		knob, sets := strings.CutPrefix(name, "set.")
		if name == "choose.knob" {
			knob, sets = strings.Trim(j.Value, `"`), true
		}
		allowed := func(k string) bool { name, _, _ := strings.Cut(k, "."); return name == knob }
		if sets && !slices.ContainsFunc(s.Limits.Knobs, allowed) {
			moved = append(moved, Change{
				Path: j.Path, Is: j.Value, File: j.File, Line: j.Line,
				Limit: fmt.Sprintf("knobs = [%s]", strings.Join(s.Limits.Knobs, ", ")),
			})
		}
	}
	nearest := []Change{{
		Path: path, Is: "{…}", File: f.Range.File, Line: f.Range.Start.Line,
		Limit: "phases with a sealed feature",
	}}
	for i, sealed := range s.features(f.Phase) {
		like := partsUnder(byPath(s.Judged), sealed)
		names := maps.Clone(like)
		maps.Copy(names, own)
		var differs []Change
		for _, name := range slices.Sorted(maps.Keys(names)) {
			root, _, _ := strings.Cut(name, ".")
			free := slices.Contains([]string{"name", "summary", "phase", "priority", "set", "hypothesis", "choose"},
				root) ||
				root == "builds_on" && own["builds_on.kind"].Value == fmt.Sprintf("%q", plans.OnAccepted)
			if free || like[name].Value == own[name].Value {
				continue
			}
			at := own[name]
			if at.File == "" {
				at = own["name"]
			}
			differs = append(differs, Change{
				Path: path + "." + name, Was: like[name].Value, Is: own[name].Value,
				File: at.File, Line: at.Line,
			})
		}
		if i == 0 || len(differs) < len(nearest) {
			nearest = differs
		}
	}
	return append(moved, nearest...)
}

// free reports whether a proposer may change what is at a path.
func (s *Seal) free(p *plans.Plan, path string) bool {
	for _, k := range s.Limits.Knobs {
		name, value, one := strings.Cut(k, ".")
		knob := p.Knob(name)
		at, of := strings.CutPrefix(path, "knob."+name+".value.")
		if !of || knob == nil || at == knob.Default || strings.HasPrefix(at, knob.Default+".") {
			continue
		}
		if !one || at == value || strings.HasPrefix(at, value+".") {
			return true
		}
	}
	return slices.ContainsFunc(s.Limits.Sources, func(e string) bool {
		return strings.HasPrefix(path, "engine."+e+".source")
	})
}

// features are the paths of the sealed features, of one phase or of all.
func (s *Seal) features(phase string) (paths []string) {
	for _, j := range s.Judged {
		parts := strings.Split(j.Path, ".")
		if len(parts) >= 5 && parts[0] == "phase" && (phase == "" || parts[1] == phase) && parts[2] == "feature" &&
			parts[4] == "name" {
			paths = append(paths, strings.Join(parts[:4], "."))
		}
	}
	return paths
}

// parts are the settings of a plan, and the digests of the files and folders that its
// commands name: an added test judges as much as a changed one. For a link in a folder,
// its target counts. Folders outside the plan's, such as those of models and of the
// system, are not part of the judging.
func parts(p *plans.Plan) (list []Part, err error) {
	for _, j := range p.Settings() {
		list = append(list, Part{j.Path, j.Value, filepath.ToSlash(j.At.File), j.At.Start.Line})
	}
	seen := map[string]bool{}
	for _, block := range commands(p) {
		for _, word := range plans.AnyList(block.Attrs["command"]) {
			name, _ := word.(string)
			path := p.Abs(name)
			info, err := os.Stat(path)
			if name == "" || seen[path] || err != nil {
				continue
			}
			seen[path] = true
			within, outside := filepath.Rel(p.Abs("."), path)
			if !info.Mode().IsRegular() &&
				(!info.IsDir() || outside != nil || within == "." || !filepath.IsLocal(within)) {
				continue
			}
			err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				below, err := filepath.Rel(path, at)
				sum := "no file: " + d.Type().String()
				if d.Type()&fs.ModeSymlink != 0 && (at != path || info.IsDir()) {
					sum, err = os.Readlink(at)
					sum = "link to " + sum
				} else if d.Type().IsRegular() || at == path {
					sum, err = digestOf(at)
				}
				list = append(list, Part{
					"file." + filepath.ToSlash(filepath.Join(name, below)), sum,
					filepath.ToSlash(block.Range.File), block.Range.Start.Line,
				})
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// commands are the blocks whose programs judge: levels, steps, and engines that measure
// themselves.
func commands(p *plans.Plan) (blocks []*plans.Block) {
	for _, q := range p.Protocols {
		blocks = append(blocks, q.Levels...)
	}
	for _, ph := range p.Phases {
		blocks = append(blocks, ph.Steps...)
	}
	for _, e := range p.Engines {
		if e.IsCommand() && e.Process != nil {
			var words []any
			for _, w := range e.Process.Command {
				words = append(words, w)
			}
			blocks = append(blocks, &plans.Block{Attrs: map[string]any{"command": words}, Range: e.Range})
		}
	}
	return blocks
}

func pathOf(f *plans.Feature) string { return "phase." + f.Phase + ".feature." + f.Name }

func digest(judged []Part) string {
	h := sha256.New()
	fmt.Fprintln(h, Format)
	for _, j := range judged {
		fmt.Fprintf(h, "%q %q\n", j.Path, j.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func byPath(list []Part) map[string]Part {
	out := make(map[string]Part, len(list))
	for _, j := range list {
		out[j.Path] = j
	}
	return out
}

// partsUnder are the parts below a path, by the rest of their path.
func partsUnder(all map[string]Part, path string) map[string]Part {
	out := map[string]Part{}
	for p, j := range all {
		if name, ok := strings.CutPrefix(p, path+"."); ok {
			out[name] = j
		}
	}
	return out
}
