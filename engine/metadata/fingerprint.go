package metadata

import (
	"maps"
	"slices"
	"strings"
)

// settings of a GPU are in the fingerprint: they change what it can do. What it
// does at the moment, its clocks and its temperature, is not.
var settings = map[string]string{
	"power.limit": "power_limit", "persistence_mode": "persistence", "ecc.mode.current": "ecc", "mig.mode.current": "mig",
	"clocks.applications.graphics": "application_clock", "clocks.applications.memory": "application_memory_clock", "clocks.max.sm": "max_clock",
}

// Keys are the entries of a fingerprint. Source trees have one each, named
// repo.<name>.
func Keys() []string {
	own := []string{
		"arch", "arch_level", "cores", "cpu", "host", "kernel", "mem_gib", "os",
		"cuda", "cudnn", "driver", "engine_version", "gpu", "image", "model_revision", "nccl", "nvcc", "packages", "python", "tokenizer", "torch", "weights",
	}
	for _, name := range settings {
		own = append(own, name)
	}
	slices.Sort(own)
	return own
}

// fingerprint is what numbers depend on.
func (d *Document) fingerprint(also map[string]string) map[string]string {
	out := map[string]string{}
	put := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	for key, value := range d.Host {
		// The document tells of all GPUs; only those that are used count.
		if key != "gpu" && key != "driver" {
			put(key, value)
		}
	}
	var gpus []string
	values := map[string][]string{}
	for _, g := range d.GPUs {
		if !g.Used {
			continue
		}
		gpus = append(gpus, g.Name+" "+g.UUID)
		put("driver", g.Driver)
		for field, key := range settings {
			if v := g.Values[field]; v != "" {
				values[key] = append(values[key], v)
			}
		}
	}
	slices.Sort(gpus)
	put("gpu", strings.Join(gpus, ", "))
	for key, list := range values {
		slices.Sort(list)
		put(key, strings.Join(slices.Compact(list), ", "))
	}
	for _, name := range []string{"cuda", "cudnn", "nccl", "nvcc", "python", "torch"} {
		put(name, d.Software[name])
	}
	if len(d.Packages) > 0 {
		put("packages", digest([]byte(strings.Join(d.Packages, "\n"))))
	}
	if m := d.Model; m != nil {
		put("model_revision", m.Revision)
		put("weights", m.Digest)
		put("tokenizer", m.Tokenizer)
	}
	for name, r := range d.Repos {
		put("repo."+name, strings.TrimSuffix(r.Commit+" with "+r.Diff, " with "))
	}
	put("engine_version", d.Engine.Version)
	maps.Copy(out, also)
	return out
}
