package limit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
)

// format is how many bits a weight of a matrix takes, including its share of the scales.
type format struct {
	bits float64
	// kept matches matrices with 16 bits.
	kept []*regexp.Regexp
	// only the experts are quantised.
	expertsOnly bool
}

// whole is the bits of an unquantised weight. Checkpoints of 32 bits are served in 16.
const whole = 16

func (f format) of(matrix string) float64 {
	for _, k := range f.kept {
		if k.MatchString(matrix) {
			return whole
		}
	}
	if f.expertsOnly && !strings.Contains(matrix, ".experts.") {
		return whole
	}
	return f.bits
}

// quantised is the part of quantization_config that is read.
type quantised struct {
	Method    string `json:"quant_method"`
	Algorithm string `json:"quant_algo"`
	Bits      int    `json:"bits"`
	Group     int    `json:"group_size"`
	Head      bool   `json:"lm_head"`
	// Dynamic gives single matrices their own formats.
	Dynamic json.RawMessage `json:"dynamic"`
	In4Bit  bool            `json:"load_in_4bit"`
	In8Bit  bool            `json:"load_in_8bit"`

	NotConverted []string `json:"modules_to_not_convert"`
	Ignore       []string `json:"ignore"`
	Excluded     []string `json:"exclude_modules"`

	Groups map[string]struct {
		Targets []string `json:"targets"`
		Weights struct {
			Bits  int    `json:"num_bits"`
			Type  string `json:"type"`
			Group int    `json:"group_size"`
		} `json:"weights"`
	} `json:"config_groups"`
}

// formatOf parses quantization_config; without one, weights have 16 bits.
func formatOf(text json.RawMessage) (f format, err error) {
	if len(text) == 0 || string(text) == "null" {
		return format{bits: whole}, nil
	}
	var q quantised
	if err := json.Unmarshal(text, &q); err != nil {
		return f, fmt.Errorf("cannot parse quantization_config: %w", foreign.NotJSON(text, err))
	}
	// perGroup is a weight's share of what a group has once.
	perGroup := func(bits, group int) float64 {
		if group < 1 {
			return 0
		}
		return float64(bits) / float64(group)
	}
	switch method := strings.TrimSpace(q.Method + " " + q.Algorithm); {
	case method == "mxfp4":
		// An 8-bit scale per 32 weights; used for gpt-oss' experts.
		f.bits, f.expertsOnly = 4+8.0/32, true
	case method == "modelopt NVFP4":
		f.bits = 4 + 8.0/16 // an 8-bit scale per 16 weights
	case method == "fp8", method == "modelopt FP8", method == "bitsandbytes" && q.In8Bit && !q.In4Bit:
		f.bits = 8
	case method == "bitsandbytes" && q.In4Bit:
		f.bits = 4
	case (method == "awq" || method == "gptq") && q.Bits >= 2 && q.Bits <= 8 && !q.Head && len(q.Dynamic) == 0:
		// A 16-bit scale and a zero point per group.
		f.bits = float64(q.Bits) + perGroup(16+q.Bits, q.Group)
	case method == "compressed-tensors" && len(q.Groups) == 1:
		for _, g := range sorted.All(q.Groups) {
			w := g.Weights
			if len(g.Targets) != 1 || g.Targets[0] != "Linear" || w.Bits < 2 || w.Bits > 8 {
				return f, fmt.Errorf("unknown compressed-tensors formats for %q", g.Targets)
			}
			scale := 16
			if w.Type == "float" && w.Bits == 4 {
				scale = 8
			}
			f.bits = float64(w.Bits) + perGroup(scale, w.Group)
		}
	default:
		return f, fmt.Errorf("unknown format %q in quantization_config", method)
	}
	var kept []string
	if q.Method != "compressed-tensors" {
		kept = append(kept, "^lm_head$") // as they all do, whether stated or not
	}
	star := func(name string) string { return strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, `.*`) }
	for _, name := range q.NotConverted {
		kept = append(kept, star(name)) // engines search for these anywhere in a name
	}
	for _, name := range append(q.Ignore, q.Excluded...) {
		pattern, isPattern := strings.CutPrefix(name, "re:")
		if !isPattern {
			pattern = "^" + star(name) + `(\.|$)`
		}
		kept = append(kept, pattern)
	}
	for _, pattern := range kept {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return f, fmt.Errorf("cannot parse the ignore list of quantization_config: %w", err)
		}
		f.kept = append(f.kept, compiled)
	}
	return f, nil
}
