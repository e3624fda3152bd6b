package metadata

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/plans/redact"
)

// Request is what to find out about one launch. The caller fills in Launch, Engine and
// Host of the document.
type Request struct {
	// Engine runs commands where the engine lives; nil if nothing can be run there.
	Engine Run
	// SameFiles means that the engine sees this machine's files: it is a process here.
	// Otherwise Volumes maps paths of this machine to the engine's.
	SameFiles bool
	Volumes   map[string]string
	// Dir is the base of a process's relative paths.
	Dir string
	// Env looks up a variable of the engine's environment, empty if unknown.
	Env func(name string) string
	// Image is the digest of the image that it runs from, empty if what it runs from may
	// change.
	Image string
	// Python is the interpreter that the command shows, nil if it shows none; Packages is
	// set if its packages are of interest.
	Python   []string
	Packages bool
	Model    string
	Revision string
	Repos    map[string]string
	Commands map[string][]string
	// GPUs are the UUIDs of those that the engine may use.
	GPUs []string
	// Also are further entries of the fingerprint, determined elsewhere.
	Also map[string]string
}

// commandLimit bounds a command of the plan.
const commandLimit = time.Minute

// Collector finds things out, and remembers whatever does not change between the launches
// of an apply. The zero value is ready to use.
type Collector struct {
	mu    sync.Mutex
	known map[string]any
}

// remembered is what was found under a key before, else what find finds, which is
// remembered where it may be and was found.
func remembered[T any](c *Collector, key string, may bool, find func() (T, error)) (T, error) {
	c.mu.Lock()
	known, ok := c.known[key].(T)
	c.mu.Unlock()
	if ok && may {
		return known, nil
	}
	found, err := find()
	if err == nil && may {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.known == nil {
			c.known = map[string]any{}
		}
		c.known[key] = found
	}
	return found, err
}

// Collect completes a document. It takes as long as the commands that it runs, so it is
// called while nothing is measured.
func (c *Collector) Collect(ctx context.Context, q Request, d *Document) {
	if q.Env == nil {
		q.Env = func(string) string { return "" }
	}
	c.hardware(ctx, &q, d)
	if q.Engine == nil && (len(q.Repos) > 0 || len(q.Commands) > 0 || q.Packages) {
		d.Lack("engine", "no command can be run on the engine's host")
	}
	if q.Packages && q.Engine != nil {
		c.python(ctx, &q, d)
		c.nvcc(ctx, &q, d)
	}
	q.repos(ctx, d)
	c.model(ctx, &q, d)
	for _, name := range keys(q.Commands) {
		out, err := q.Engine.text(ctx, commandLimit, q.Commands[name]...)
		if err != nil {
			d.Lack("commands."+name, err.Error())
			continue
		}
		if d.Commands == nil {
			d.Commands = map[string]string{}
		}
		d.Commands[name] = strings.ToValidUTF8(strings.TrimRight(redact.Known().Cut(out, maxOutput), "\n"), "?")
	}
	d.Fingerprint = d.fingerprint(q.Also)
}

// hardware reads the GPUs of this machine.
func (c *Collector) hardware(ctx context.Context, q *Request, d *Document) {
	list, err := gpu.List(ctx)
	if err != nil {
		d.Lack("gpus", err.Error())
		return
	}
	for _, g := range list {
		one := GPU{
			Index: g.Index, UUID: g.UUID, Name: g.Name, Driver: g.Driver, Unified: g.Unified(),
			Used: slices.Contains(q.GPUs, g.UUID), Values: maps.Clone(g.Values),
		}
		if words, ok := g.Throttled(); ok {
			one.Throttled = words
		} else {
			d.Lack("throttle state of GPU "+g.UUID, "the driver does not report it")
		}
		d.GPUs = append(d.GPUs, one)
		d.software("driver", g.Driver)
	}
	if len(list) == 0 {
		d.Lack("gpus", "nvidia-smi is missing or shows none")
	} else {
		version, _ := remembered(c, "driver cuda", true, func() (string, error) { return gpu.DriverCUDA(ctx), nil })
		d.software("driver_cuda", version)
	}
}

// nvcc asks the compiler, if there is one, for its version: kernels built at start are
// compiled with it.
func (c *Collector) nvcc(ctx context.Context, q *Request, d *Document) {
	version, _ := remembered(c, "nvcc "+q.Image, q.Image != "", func() (string, error) {
		for _, program := range []string{"nvcc", "/usr/local/cuda/bin/nvcc"} {
			out, err := q.Engine.text(ctx, 10*time.Second, program, "--version")
			if _, after, found := strings.Cut(out, ", V"); err == nil && found {
				return strings.Fields(after + " ?")[0], nil
			}
		}
		return "", nil
	})
	d.software("nvcc", version)
}

const (
	// smallLimit is the size up to which a file of a larger model is read whole.
	smallLimit = 1 << 20
	// headLimit is how much of a large file is read: GGUF has its metadata there.
	headLimit = 1 << 20
	// headerLimit bounds the header of a safetensors file, which names all its tensors.
	headerLimit = 64 << 20
)

// digest covers files by name and content. Of large files it covers the blob name if a
// cache has one, else size, modification time and head: reading hundreds of gigabytes at
// every launch is not an option, and would empty the page cache that the engine loads
// from.
func (c *Collector) digest(ctx context.Context, t tree, files []file, whole bool) (sum, covers string, err error) {
	h := sha256.New()
	covers = "names and contents"
	for _, f := range files {
		id, complete, err := c.identity(ctx, t, f, whole)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", f.path, err)
		}
		if !complete {
			covers = "names, sizes, contents of small files, and times and heads of large ones"
		}
		fmt.Fprintf(h, "%q %d %s\n", f.name, f.size, id)
	}
	return hex.EncodeToString(h.Sum(nil)), covers, nil
}

// identity distinguishes a file from others of the same name.
func (c *Collector) identity(ctx context.Context, t tree, f file, whole bool) (id string, complete bool, err error) {
	if f.blob != "" {
		return f.blob, true, nil
	}
	limit := int64(headLimit)
	if complete = whole || f.size <= smallLimit; complete {
		limit = f.size
	}
	_, here := t.(hostTree)
	id, err = remembered(c, fmt.Sprint("file ", f.path, f.size, f.mtime, limit), here, func() (string, error) {
		if !complete && strings.HasSuffix(f.name, ".safetensors") {
			var length strings.Builder
			if err := t.read(ctx, f.path, 8, &length); err != nil {
				return "", err
			}
			if length.Len() == 8 {
				limit = 8 + int64(min(binary.LittleEndian.Uint64([]byte(length.String())), headerLimit))
			}
		}
		h := sha256.New()
		if err := t.read(ctx, f.path, limit, h); err != nil {
			return "", err
		}
		id := hex.EncodeToString(h.Sum(nil))
		if !complete {
			id += " " + f.mtime
		}
		return id, nil
	})
	return id, complete, err
}

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

// packageList is what packages.py prints.
type packageList struct {
	Python     string   `json:"python"`
	Executable string   `json:"executable"`
	Packages   []string `json:"packages"`
}

// pythons are tried if the plan's command does not show an interpreter.
var pythons = [][]string{{"python3"}, {"python"}}

// python reads packages and library versions where the engine lives. The contents of an
// image do not change, so each image is asked only once.
func (c *Collector) python(ctx context.Context, q *Request, d *Document) {
	found, err := c.packages(ctx, q)
	if err != nil {
		d.Lack("packages", err.Error())
		return
	}
	d.Packages = found.Packages
	d.software("python", found.Python)
	if !slices.ContainsFunc(found.Packages, func(p string) bool { return strings.HasPrefix(p, "torch==") || strings.HasPrefix(p, "torch @") }) {
		d.Lack("torch", "it is not installed on the engine's host")
		return
	}
	if found.Executable == "" {
		d.Lack("torch", "no Python interpreter")
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

func (c *Collector) packages(ctx context.Context, q *Request) (packageList, error) {
	key := "packages " + q.Image + " " + strings.Join(q.Python, " ")
	return remembered(c, key, q.Image != "", func() (packageList, error) { return q.listPackages(ctx) })
}

func (q *Request) listPackages(ctx context.Context) (packageList, error) {
	interpreters := pythons
	if len(q.Python) > 0 {
		interpreters = append([][]string{q.Python}, pythons...)
	}
	var why []string
	for _, python := range interpreters {
		out, err := q.Engine.text(ctx, packagesLimit, append(slices.Clone(python), "-c", listPackages)...)
		var found packageList
		if err == nil {
			err = json.Unmarshal([]byte(last(out)), &found)
		}
		if err == nil {
			return found, nil
		}
		why = append(why, fmt.Sprintf("%s: %v", strings.Join(python, " "), err))
	}
	for _, argv := range [][]string{{"uv", "pip", "freeze"}, {"pip", "freeze"}, {"conda", "list", "--export"}} {
		out, err := q.Engine.text(ctx, packagesLimit, argv...)
		if found := lines(out); err == nil && len(found) > 0 {
			return packageList{Packages: found}, nil
		}
	}
	return packageList{}, fmt.Errorf("no Python could list them: %s", strings.Join(why, "; "))
}

// torch asks PyTorch itself: importing it takes seconds, so the answer is kept while the
// installed packages are unchanged.
func (c *Collector) torch(ctx context.Context, q *Request, found packageList) (map[string]string, error) {
	key := "torch " + q.Image + " " + found.Executable + " " + digest([]byte(strings.Join(found.Packages, "\n")))
	return remembered(c, key, true, func() (map[string]string, error) {
		out, err := q.Engine.text(ctx, torchLimit, found.Executable, "-c", askTorch)
		if err != nil {
			return nil, err
		}
		versions := map[string]string{}
		if err := json.Unmarshal([]byte(last(out)), &versions); err != nil {
			return nil, fmt.Errorf("cannot parse its answer: %w", err)
		}
		return versions, nil
	})
}

// lines are the lines that are neither blank nor comments (#), sorted.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// Run runs a command and returns its standard output.
type Run func(ctx context.Context, argv ...string) ([]byte, error)

// Host runs commands on this machine, in mxflow's own environment.
func Host(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// maxOutput is how much of a command's output is kept in a document.
const maxOutput = 64 << 10

// text runs a command for at most limit and returns what it printed.
func (run Run) text(ctx context.Context, limit time.Duration, argv ...string) (string, error) {
	if run == nil {
		return "", errors.New("no command can be run on the engine's host")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := run(ctx, argv...)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s did not end within %s", argv[0], limit)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return "", fmt.Errorf("%w: %s", err, last(string(exit.Stderr)))
	}
	return string(out), err
}

// last is the last non-blank line: where programs put the reason.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// brief makes a reason fit on one line.
func brief(why string) string { return logscan.Clean(strings.Join(strings.Fields(why), " ")) }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
