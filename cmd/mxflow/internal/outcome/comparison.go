package outcome

import (
	"fmt"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/runtime/report"
)

// Blocks prints tables with what belongs to them, each below its title if it has one.
func Blocks(on table.Screen, blocks []report.Block) {
	for i, b := range blocks {
		if i > 0 {
			fmt.Fprintln(on)
		}
		if b.Title != "" {
			fmt.Fprintf(on, "%s:\n", b.Title)
		}
		if len(b.Rows) > 0 {
			on.Table(b.Head, b.Rows)
		}
		for _, n := range b.Notes {
			if len(b.Notes) > 1 {
				n = "- " + n
			}
			on.Sentence(n)
		}
	}
}
