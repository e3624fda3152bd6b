package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choose picks GPUs by index ("0"), by UUID ("GPU-8f…", or an unambiguous
// beginning of one) or by MIG device ("MIG-…", which stands for the GPU that it
// is a part of, given by parents). "all" is every GPU, "none" none. A name that
// fits no GPU is an error that says what there is.
func Choose(all []GPU, parents map[string]string, names []string) ([]GPU, error) {
	chosen := map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case name == "none" || name == "void":
			return nil, nil
		case name == "all":
			return all, nil
		}
		found, err := one(all, parents, name)
		if err != nil {
			return nil, err
		}
		chosen[found.UUID] = true
	}
	var out []GPU
	for _, g := range all {
		if chosen[g.UUID] {
			out = append(out, g)
		}
	}
	return out, nil
}

func one(all []GPU, parents map[string]string, name string) (GPU, error) {
	if len(all) == 0 {
		return GPU{}, fmt.Errorf("GPU %q is asked for, and this machine has none that nvidia-smi shows", name)
	}
	if uuid, ok := parents[name]; ok {
		name = uuid
	}
	index, err := strconv.Atoi(name)
	byIndex := err == nil
	var fits []GPU
	for _, g := range all {
		if byIndex && g.Index == index || !byIndex && len(name) > len("GPU-") && strings.HasPrefix(g.UUID, name) {
			fits = append(fits, g)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	var there []string
	for _, g := range all {
		there = append(there, g.String())
	}
	if len(fits) > 1 {
		return GPU{}, fmt.Errorf("%q is the beginning of several UUIDs; there are %s", name, strings.Join(there, ", "))
	}
	return GPU{}, fmt.Errorf("there is no GPU %q; there are %s", name, strings.Join(there, ", "))
}

// Visible are the GPUs that a program sees with CUDA_VISIBLE_DEVICES set to
// list, as CUDA reads it: the first name that fits nothing hides what follows.
//
// CUDA counts by speed unless CUDA_DEVICE_ORDER is PCI_BUS_ID, and nvidia-smi by
// bus. Where GPUs differ, an index therefore does not say which one is meant:
// all of them are taken then, and sure is false.
func Visible(all []GPU, parents map[string]string, list, order string) (visible []GPU, sure bool) {
	alike := order == "PCI_BUS_ID"
	if !alike {
		alike = !slices.ContainsFunc(all, func(g GPU) bool { return g.Name != all[0].Name })
	}
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if _, err := strconv.Atoi(name); err == nil && !alike {
			return all, false
		}
		g, err := one(all, parents, name)
		if err != nil {
			break
		}
		if !seen[g.UUID] {
			visible = append(visible, g)
		}
		seen[g.UUID] = true
	}
	return visible, true
}

// parseParents reads `nvidia-smi -L`: the MIG devices, each with the UUID of the
// GPU that it is a part of.
func parseParents(out string) map[string]string {
	parents := map[string]string{}
	gpu := ""
	for line := range strings.Lines(out) {
		_, rest, ok := strings.Cut(line, "(UUID: ")
		if !ok {
			continue
		}
		uuid, _, _ := strings.Cut(rest, ")")
		if strings.HasPrefix(uuid, "MIG-") {
			parents[uuid] = gpu
		} else {
			gpu = uuid
		}
	}
	return parents
}
