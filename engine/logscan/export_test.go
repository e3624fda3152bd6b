package logscan

// ScanBoth is for tests that look for what the kinds of engines say.
var ScanBoth = scanBoth
