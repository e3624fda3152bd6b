package plans

// Suite is a tier of workloads, chosen by --suite: what the benchmark sends in
// place of the workloads that its level names.
type Suite struct {
	Name    string
	Summary string
	// Workloads are names, in the order in which they are sent.
	Workloads []string
	Range     Range `json:"-"`
}
