package metadata

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
)

// Request is what to find out about one launch. Launch, Engine and Host of the
// document are filled in by whoever asks.
type Request struct {
	// Engine runs commands where the engine lives; nil where nothing can be run
	// there.
	Engine Run
	// SameFiles says that the engine sees this machine's files: it is a process
	// here. Otherwise Volumes maps paths of this machine to the engine's.
	SameFiles bool
	Volumes   map[string]string
	// Dir is where relative paths of a process begin.
	Dir string
	// Env looks up a variable of the engine's environment, empty where unknown.
	Env func(name string) string
	// Image is the digest of the image that it runs from, empty where what it runs
	// from may change.
	Image string
	// Python is the interpreter that the command shows, nil where it shows none;
	// Packages says whether what it has is of interest.
	Python   []string
	Packages bool
	Model    string
	Revision string
	Repos    map[string]string
	Commands map[string][]string
	// GPUs are the UUIDs of those that the engine may use.
	GPUs []string
	// Also are entries of the fingerprint that others have found out.
	Also map[string]string
}

// commandLimit bounds a command of the plan.
const commandLimit = time.Minute

// Collector finds things out, and remembers what does not change between the
// launches of an apply. The zero value is ready to use.
type Collector struct {
	mu    sync.Mutex
	known map[string]any
}

func (c *Collector) kept(key string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

func (c *Collector) keep(key string, v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]any{}
	}
	c.known[key] = v
}

// Collect completes a document. It takes as long as the commands that it runs,
// so it is called while nothing is measured.
func (c *Collector) Collect(ctx context.Context, q Request, d *Document) {
	if q.Env == nil {
		q.Env = func(string) string { return "" }
	}
	c.hardware(ctx, &q, d)
	if q.Engine == nil && (len(q.Repos) > 0 || len(q.Commands) > 0 || q.Packages) {
		d.Lack("engine", "no command can be run where the engine lives")
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
		d.Commands[name] = strings.ToValidUTF8(strings.TrimRight(out[:min(len(out), maxOutput)], "\n"), "?")
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
			d.Lack("throttle state of GPU "+g.UUID, "the driver does not tell")
		}
		d.GPUs = append(d.GPUs, one)
		d.software("driver", g.Driver)
	}
	if len(list) == 0 {
		d.Lack("gpus", "there is no nvidia-smi, or it shows none")
	} else {
		version, ok := c.kept("driver cuda").(string)
		if !ok {
			version = gpu.DriverCUDA(ctx)
			c.keep("driver cuda", version)
		}
		d.software("driver_cuda", version)
	}
}

// nvcc asks the compiler for its version, where there is one: it is what kernels
// built at start are compiled with.
func (c *Collector) nvcc(ctx context.Context, q *Request, d *Document) {
	key := "nvcc " + q.Image
	version, ok := c.kept(key).(string)
	if !ok || q.Image == "" {
		for _, program := range []string{"nvcc", "/usr/local/cuda/bin/nvcc"} {
			out, err := q.Engine.text(ctx, 10*time.Second, program, "--version")
			if _, after, found := strings.Cut(out, ", V"); err == nil && found {
				version = strings.Fields(after + " ?")[0]
				break
			}
		}
		c.keep(key, version)
	}
	d.software("nvcc", version)
}
