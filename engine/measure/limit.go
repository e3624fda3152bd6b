package measure

// Limit is what a machine allows a cell (engine/limit), with its basis: by the formats of
// the model's config, to which shares refer, and by the smallest and fastest of all
// formats, which nothing exceeds. GB are 1e9 bytes.
type Limit struct {
	// Machine is the engine's GPUs, Model the architecture, and Source where its
	// config.json was read.
	Machine string `json:"machine"`
	Model   string `json:"model"`
	Source  string `json:"source,omitempty"`
	// BandwidthGBs is that of all GPUs together. StepGB is what a decoding step reads of
	// it for Requests at once; 0 if their number is unknown.
	BandwidthGBs float64 `json:"bandwidth_gb_s"`
	StepGB       float64 `json:"step_gb,omitempty"`
	Requests     int     `json:"requests,omitempty"`
	// LeastGB is the minimum that a step reads; 0 if all of it may stay on the chip.
	LeastGB float64 `json:"least_gb,omitempty"`
	// PromptGFLOP is what a prompt token costs, TFLOPs the GPUs' rate for numbers of so
	// many Bits, and MostTFLOPs for any.
	PromptGFLOP float64 `json:"prompt_gflop"`
	Bits        int     `json:"bits"`
	TFLOPs      float64 `json:"tflops"`
	MostTFLOPs  float64 `json:"most_tflops"`
	// Room is how far clocks may exceed those of the data sheets.
	Room float64 `json:"room"`
}

// MostSteps is how many steps per second nothing exceeds; 0 if no limit is known.
func (l *Limit) MostSteps() float64 {
	if l == nil || l.LeastGB <= 0 {
		return 0
	}
	return l.Room * l.BandwidthGBs / l.LeastGB
}

// MostPrompt is how many prompt tokens per second nothing exceeds, 0 as above.
func (l *Limit) MostPrompt() float64 {
	if l == nil || l.PromptGFLOP <= 0 {
		return 0
	}
	return l.Room * 1e3 * l.MostTFLOPs / l.PromptGFLOP
}

// oneEach is the maximum average of tokens per stream event if each step of the engine
// gives one.
const oneEach = 1.25

// limit adds the share of the machine's limit that a cell reached. With speculation a
// step gives several tokens: as many as the engine reports; if it does not and they come
// several at a time, the number of steps is unknown.
func (o single) limit(c CellRun, all []answer) {
	l := c.Limit
	if l == nil || l.StepGB <= 0 || l.PromptGFLOP <= 0 {
		return
	}
	tokens, events := 0, 0
	for _, s := range all {
		if s.values == nil {
			continue
		}
		tokens += max(s.OutputTokens, 0)
		for _, e := range s.Events {
			if e.HasText() || e.Kind == KindBlank {
				events++
			}
		}
	}
	perStep, known := o.out[o.prefix+"accept_length"].Stats["mean"]
	if !known {
		perStep, known = 1, events > 0 && float64(tokens) <= oneEach*float64(events)
	}
	if tg, has := o.out[o.prefix+"tg"].Stats["median"]; has {
		o.put("tg_of_limit", tg/(max(perStep, 1)*l.BandwidthGBs/l.StepGB), known)
	}
	if pp, has := o.out[o.prefix+"pp"].Stats["median"]; has {
		o.put("pp_of_limit", pp/(1e3*l.TFLOPs/l.PromptGFLOP), l.Requests == 1)
	}
}
