package plans

import "github.com/hashicorp/hcl/v2"

// Pos is a position in a source file; lines and columns count from 1, bytes
// from 0.
type Pos struct{ Line, Column, Byte int }

// Range is where something stands in a plan.
type Range struct {
	File       string
	Start, End Pos
}

// rangeOf is an HCL range in this package's own type, so that no HCL type
// reaches those who use a Plan.
func rangeOf(r hcl.Range) Range {
	return Range{
		File:  r.Filename,
		Start: Pos(r.Start),
		End:   Pos(r.End),
	}
}

func (r Range) hcl() hcl.Range {
	return hcl.Range{Filename: r.File, Start: hcl.Pos(r.Start), End: hcl.Pos(r.End)}
}
