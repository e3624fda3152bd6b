package logscan

// For tests of what the kinds of engines log.
var (
	ScanBoth   = scanBoth
	LiteralsOf = literalsOf
	Fold       = fold
)
