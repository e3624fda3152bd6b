package plans

// Report says which metrics the tables of results show.
type Report struct {
	_ struct{} `hcl:"columns,optional" type:"list of columns" unless:"table" needs:"what it shows, such as [\"chat.tg32\", \"chat.ttft.p50\"]." doc:"Columns of the one table, in their order. Each is an address as a rule reads it, such as 'chat.tg32', 'chat.ttft.p99', 'gpu.power_w' or 'levels.correctness.kl', or '{ column = \"chat.ttft.p50\", heading = \"TTFT\" }'. Each row shows its own value. Required unless there are 'table' blocks."`
}

// Table is one table of results: each configuration, compared engine and target is a row of it.
type Table struct {
	Name string   `hcl:"name,label" doc:"Its title."`
	_    struct{} `hcl:"columns" type:"list of columns" needs:"what it shows, such as [\"gpu.power_w\", \"chat.tokens_per_joule\"]." doc:"As in 'report'."`
	// Columns are those of the plan, or what its rules, hypotheses and targets read.
	Columns []*Column
}

// Column is an address that each row has its own value of.
type Column struct {
	// Path is the address as rules write it, Heading what a table shows in its place.
	Path, Heading string
	Range         Range
	// Input is what Path reads. Set by Load.
	Input *Input
}
