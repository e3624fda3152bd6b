package measure

// Better is the direction in which a metric improves.
type Better string

const (
	// Higher is better: speeds.
	Higher Better = "higher"
	// Lower is better: latencies, memory.
	Lower Better = "lower"
	// Neither: counts that are only checked.
	Neither Better = ""
)

// Scope says what a metric belongs to.
type Scope string

const (
	// PerRequest metrics have one value a request (itl: one a token) and are
	// addressed below a workload: chat.tg.
	PerRequest Scope = "request"
	// PerCell metrics have one value for each cell of a workload and launch, and
	// are addressed below the workload as well: chat.c16.tg_total.
	PerCell Scope = "cell"
	// PerLaunch metrics have one value a launch and are addressed below
	// engine: engine.startup_s.
	PerLaunch Scope = "launch"
	// PerGPU and PerHost metrics have one value a launch, over the time in which
	// requests were measured, and are addressed below gpu and host:
	// gpu.power_w, host.cpu_share.
	PerGPU  Scope = "gpu"
	PerHost Scope = "host"
)

// Metric is one entry of the catalogue, the single source of a metric's name,
// unit, direction and meaning for rules, reports and docs.
type Metric struct {
	// Name is the path element in rules: "tg", "startup_s".
	Name string
	// Unit of every statistic of it but cv and n.
	Unit string
	// Better is its better direction.
	Better Better
	// Scope says where it is addressed.
	Scope Scope
	// Observed says that its value is what the engine says of itself under the
	// same name.
	Observed bool
	// Whole says that each of its values is a whole number of its unit: counted, or
	// read in steps of one. What is divided or averaged is none, whatever it comes to.
	Whole bool
	// Evidence is what must have been recorded for it to exist.
	Evidence string
	// Definition says exactly what it is.
	Definition string
}
