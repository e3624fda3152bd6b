package main

// moreColumns are metrics of a whole cell. Those that were measured stand in a
// second table: they need limits, speculation, a prefix cache, or GPUs that are
// watched.
var moreColumns = []struct{ metric, head string }{
	{"goodput", "goodput req/s"},
	{"slo_attainment", "slo_attainment"},
	{"accept_length", "accept_length"},
	{"accept_rate", "accept_rate"},
	{"prefix_hit_rate", "prefix_hit_rate"},
	{"power_w", "power W"},
	{"joules_per_token", "J/token"},
	{"gpu_memory_gb", "GPU memory GB"},
}

// more is the second table, empty where nothing of it was measured.
func (r *benchResult) more() (head []string, rows [][]string) {
	for _, column := range moreColumns {
		measured := false
		for _, c := range r.Cells {
			measured = measured || c.Metrics[column.metric] != nil
		}
		if !measured {
			continue
		}
		if head == nil {
			head = []string{"cell"}
			for _, c := range r.Cells {
				rows = append(rows, []string{c.Label})
			}
		}
		head = append(head, column.head)
		for i, c := range r.Cells {
			rows[i] = append(rows[i], spread(c.Metrics[column.metric]))
		}
	}
	return head, rows
}

// benchTable is one table of the result.
type benchTable struct {
	Head []string
	Rows [][]string
}

// tables are those that there are something to say in.
func (r *benchResult) tables() []benchTable {
	first := benchTable{Head: benchHead}
	for _, row := range r.rows() {
		first.Rows = append(first.Rows, row.cells())
	}
	all := []benchTable{first}
	if head, rows := r.more(); head != nil {
		all = append(all, benchTable{head, rows})
	}
	return all
}
