package logscan

// Found is what the last line said that one of several expressions matched.
type Found struct {
	// Count is how many lines matched.
	Count int
	// Value is the group called "value", else the first group; Grouped is false
	// where the expression has none.
	Value   string
	Grouped bool
	// Line is the last line that matched, safe to print and cut at 300 bytes,
	// LineNo its number as an editor shows it, from 1.
	Line   string
	LineNo int
}

// finding is a Found while the log is scanned: the line is kept as it is, as far
// as Clean looks, and made safe once.
type finding struct {
	count, number int
	line, value   []byte
	grouped       bool
}

// take records what a line says, if it matches.
func (f *finding) take(p *sought, line []byte, number int) bool {
	at := p.expr.FindSubmatchIndex(line)
	if at == nil {
		return false
	}
	f.count++
	f.number, f.grouped = number, p.group > 0
	f.line = append(f.line[:0], line[:min(len(line), cleanedBytes)]...)
	f.value = f.value[:0]
	if from, to := at[2*p.group], at[2*p.group+1]; f.grouped && from >= 0 {
		f.value = append(f.value, line[from:min(to, from+cleanedBytes)]...)
	}
	return true
}

func (f *finding) found() Found {
	return Found{Count: f.count, Value: Clean(f.value), Grouped: f.grouped, Line: Clean(f.line), LineNo: f.number}
}
