package logscan

// For tests that look for what the kinds of engines say.
var (
	ScanBoth   = scanBoth
	LiteralsOf = literalsOf
	Fold       = fold
)
