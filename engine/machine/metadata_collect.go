package machine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/internal/sorted"
)

// MetadataRequest is what to find out about one launch. The caller fills in Launch, Engine
// and Host of the document.
type MetadataRequest struct {
	// Engine runs a command where the engine lives, and returns its standard output; nil if
	// nothing can be run there.
	Engine Run
	// Python is the interpreter that the command shows, nil if it shows none; Packages is
	// set if its packages are of interest.
	Python   []string
	Packages bool
	Model    string
	Revision string
	Repos    map[string]string
	Commands map[string]string
	// GPUs are the UUIDs of those that the engine may use.
	GPUs []string
	// Also are further entries of the fingerprint, determined elsewhere.
	Also map[string]string
}

// Run runs a command and returns its standard output.
type Run func(ctx context.Context, argv ...string) ([]byte, error)

// Collect completes a document. Where the engine lives one command is run, so it takes as
// long as that, and is called while nothing is measured.
func Collect(ctx context.Context, q MetadataRequest, d *Document) {
	d.hardware(ctx, q.GPUs)
	var calls []string
	call := func(part string, command ...string) {
		for i, word := range command {
			command[i] = shell.Quote(word)
		}
		calls = append(calls, "part "+shell.Quote(part)+" "+strings.Join(command, " "))
	}
	if q.Packages {
		calls = append(calls, interpreters(q.Python))
		call("packages", "installed")
		call("nvcc", "compiler")
	}
	for _, name := range keys(q.Repos) {
		call("repos."+name, "repo", q.Repos[name])
	}
	if q.Model != "" {
		words := []string{q.Model, "models--" + strings.ReplaceAll(q.Model, "/", "--"), cmp.Or(q.Revision, "main")}
		call("model", append([]string{"model"}, words...)...)
		call("model.config", append([]string{"config"}, words...)...)
	}
	for _, name := range keys(q.Commands) {
		call("commands."+name, "limit", "60", "sh", "-c", q.Commands[name])
	}
	answer := ask(ctx, q.Engine, calls)
	if q.Packages {
		d.python(answer)
	}
	for _, name := range keys(q.Repos) {
		if repo, err := repoOf(q.Repos[name], answer("repos."+name)); err != nil {
			d.Lack("repos."+name, fmt.Sprintf("git cannot read %s: %v", q.Repos[name], err))
		} else {
			d.Repos = put(d.Repos, name, repo)
		}
	}
	d.model(q.Model, answer)
	for _, name := range keys(q.Commands) {
		if p := answer("commands." + name); p.err != nil {
			d.Lack("commands."+name, p.err.Error())
		} else {
			d.Commands = put(d.Commands, name,
				strings.ToValidUTF8(strings.TrimRight(redact.ProcessSecrets().Cut(p.out, maxOutput), "\n"), "?"))
		}
	}
	d.Fingerprint = d.fingerprint(q.Also)
}

// maxOutput is how much of a command's output is kept in a document.
const maxOutput = 64 << 10

// collect is the script that answers, packages the one that prints the installed packages
// and PyTorch's build as JSON, without pip.
var (
	//go:embed collect.sh
	collect string
	//go:embed packages.py
	packages string
)

// part is a part of an answer, or why it is missing.
type part struct {
	out string
	err error
}

// ask runs the script with these calls by one command, and returns its parts by name.
func ask(ctx context.Context, run Run, calls []string) func(name string) part {
	parts := map[string]part{}
	var out []byte
	err := errors.New("no command can be run on the engine's host")
	mark := "mxflow-" + rand.Text()
	if run != nil && len(calls) > 0 {
		out, err = run(ctx, "sh", "-c", collect+strings.Join(calls, "\n"), "sh", mark, packages)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, last(string(exit.Stderr)))
		}
		if err == nil {
			err = errors.New("the answer breaks off before it")
		}
	}
	for _, text := range strings.Split(string(out), "\n"+mark+" begin ")[1:] {
		name, rest, _ := strings.Cut(text, "\n")
		body, end, ended := strings.Cut(rest, "\n"+mark+" end ")
		if !ended {
			continue
		}
		p := part{out: body}
		end, _, _ = strings.Cut(end, "\n")
		if code, why, _ := strings.Cut(end, " "); code != "0" {
			p.err = errors.New(strings.TrimSuffix("exit status "+code+": "+why, ": "))
			if code == "124" {
				p.err = errors.New("it did not end in time")
			}
		}
		parts[name] = p
	}
	return func(name string) part {
		if p, ok := parts[name]; ok {
			return p
		}
		return part{err: err}
	}
}

// interpreters defines what asks Python: the one that the plan's command shows, else the
// usual ones.
func interpreters(python []string) string {
	var list []string
	for _, words := range [][]string{python, {"python3"}, {"python"}} {
		if len(words) > 0 {
			call := "limit 60"
			for _, word := range words {
				call += " " + shell.Quote(word)
			}
			list = append(list, call+` -c "$packages"`)
		}
	}
	return "installed() { " + strings.Join(list, " || ") + "; }"
}

// python reads packages and library versions.
func (d *Document) python(answer func(string) part) {
	p := answer("packages")
	var found struct {
		Versions map[string]string
		Packages []string
	}
	if p.err == nil {
		p.err = json.Unmarshal([]byte(last(p.out)), &found)
	}
	if p.err != nil {
		d.Lack("packages", "no Python could list them: "+p.err.Error())
		return
	}
	d.Packages = found.Packages
	for name, version := range sorted.All(found.Versions) {
		d.software(name, version)
	}
	if _, after, found := strings.Cut(answer("nvcc").out, ", V"); found { // kernels built at start are compiled with it
		d.software("nvcc", strings.Fields(after + " ?")[0])
	}
	if d.Software["torch"] == "" {
		d.Lack("torch", "it is not installed on the engine's host")
	}
}

func (d *Document) hardware(ctx context.Context, used []string) {
	list, err := GPUs(ctx)
	switch {
	case err != nil:
		d.Lack("gpus", err.Error())
	case len(list) == 0:
		d.Lack("gpus", shownBy()+" is missing or shows none")
	}
	for _, v := range vendors {
		if len(v.of(list)) > 0 {
			d.software(v.software())
		}
	}
	for _, g := range list {
		words, ok := g.Throttled()
		if !ok {
			d.Lack("throttle state of GPU "+g.UUID, "the driver does not report it")
		}
		d.GPUs = append(d.GPUs, GPUState{
			GPU: g, Unified: g.Unified(), Used: slices.Contains(used, g.UUID), Throttled: words,
		})
	}
}

var sha = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// repoOf reads what the script's repo prints: commit, branch, and of changes their number and
// digest.
func repoOf(path string, p part) (Repo, error) {
	lines := strings.Split(strings.TrimSpace(p.out), "\n")
	r := Repo{Path: path, Commit: lines[0]}
	if p.err != nil {
		return r, p.err
	}
	if !sha.MatchString(r.Commit) || len(lines) != 2 && len(lines) != 4 {
		return r, fmt.Errorf("git answered %q", brief(p.out))
	}
	if lines[1] != "HEAD" {
		r.Branch = lines[1]
	}
	if len(lines) == 4 {
		r.Dirty, r.Diff = true, strings.Fields(lines[3] + " ?")[0]
		if _, err := fmt.Sscan(lines[2], &r.Changes); err != nil || len(r.Diff) != 64 {
			return r, fmt.Errorf("git answered %q", brief(p.out))
		}
	}
	return r, nil
}

// model describes a model by what the script prints of its files.
func (d *Document) model(name string, answer func(string) part) {
	if name == "" {
		d.Lack("model", "neither the plan nor the command has a model")
		return
	}
	m := &Model{Name: name, Covers: "names and contents"}
	d.Model = m
	p := answer("model")
	path, rest, _ := strings.Cut(strings.Trim(p.out, "\n"), "\n")
	lines := strings.Split(strings.TrimSpace(rest), "\n")
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, '\t')+1:], b[strings.LastIndexByte(b, '\t')+1:])
	})
	all, tokenizer, config, gguf := sha256.New(), sha256.New(), false, false
	for _, line := range lines {
		cells := strings.SplitN(line, "\t", 3)
		if p.err == nil && (len(cells) != 3 || len(cells[1]) < 64) {
			p.err = fmt.Errorf("the listing of its files has %q", brief(line))
		}
		if p.err != nil {
			break
		}
		file := strings.TrimPrefix(strings.TrimPrefix(cells[2], path), "/")
		if file == "" {
			file = filepath.Base(path)
		}
		size, err := strconv.ParseInt(cells[0], 10, 64)
		p.err = err
		m.Files, m.Bytes = m.Files+1, m.Bytes+size
		fmt.Fprintf(all, "%q %d %s\n", file, size, cells[1])
		if isTokenizer(file) {
			fmt.Fprintf(tokenizer, "%q %d %s\n", file, size, cells[1])
			m.Tokenizer = hex.EncodeToString(tokenizer.Sum(nil))
		}
		if len(cells[1]) > 64 {
			m.Covers = "names, sizes, contents of small files, and times and heads of large ones"
		}
		config, gguf = config || file == "config.json", gguf || filepath.Ext(file) == ".gguf"
	}
	if p.err != nil {
		*m = Model{Name: name}
		d.Lack("model.digest", fmt.Sprintf("%s: %v", name, p.err))
		return
	}
	m.Path, m.Digest = path, hex.EncodeToString(all.Sum(nil))
	if _, commit, ok := strings.Cut(path, "/snapshots/"); ok {
		m.Revision = commit
	}
	if p := answer("model.config"); config && p.err != nil {
		d.Lack("model.config", p.err.Error())
	} else if config && !gguf { // whose weights it does not describe
		m.Config = []byte(p.out)
	}
}

func isTokenizer(name string) bool {
	switch base := filepath.Base(name); base {
	case "vocab.json", "vocab.txt", "merges.txt", "special_tokens_map.json", "added_tokens.json", "spiece.model":
		return true
	default:
		return strings.HasPrefix(base, "tokenizer") || strings.HasPrefix(base, "chat_template") ||
			strings.HasSuffix(base, ".tiktoken")
	}
}

// put is m with one more entry; m may be nil.
func put[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// last is the last non-blank line: where programs put the reason.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
