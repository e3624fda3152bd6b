package imported

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// reader reads one tool's format. It takes a document that knows shows to be
// the tool's.
type reader struct {
	tool  string
	knows func(first node) bool
	read  func(f *File, all []node) error
}

// readers are the formats in JSON, in the order in which they are tried.
var readers = []reader{
	{"llama-benchy", isBenchy, readBenchy},
	{"llama-bench", isLlamaBench, readLlamaBench},
	{"AIPerf", isAIPerf, readAIPerf},
	{"SGLang bench_serving", isSGLang, readSGLang},
	{"vLLM bench serve", isVLLM, readVLLM},
}

// Tools names what can be read, for messages and docs.
func Tools() []string {
	return []string{
		"llama-benchy (--save-result, JSON)", "llama-bench (-o json, jsonl, csv, md, sql)", "AIPerf (profile_export_aiperf.json, profile_export.jsonl, aggregates)",
		"SGLang bench_serving (--output-file, JSON lines)", "vLLM bench serve (--save-result, --save-detailed, --append-result)", "MLPerf LoadGen (mlperf_log_summary.txt)",
	}
}

var loadgenTitle = regexp.MustCompile(`(?m)^MLPerf Results Summary\s*$`)

// Read reads a result file, whose format is told by its content. The error is
// an *Error.
func Read(file string, data []byte) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(data) > MaxSize:
		return nil, &Error{File: file, Says: fmt.Sprintf("it has %d bytes, and at most %d are read", len(data), MaxSize)}
	case len(trimmed) == 0:
		return nil, &Error{File: file, Says: "it is empty"}
	case !utf8.Valid(data):
		return nil, &Error{File: file, Line: badLine(data), Says: "it is not text in UTF-8"}
	}
	f := &File{}
	var err error
	switch {
	case trimmed[0] == '{' || trimmed[0] == '[':
		err = f.readJSON(file, data)
	case loadgenTitle.Match(data):
		f.Tool = "MLPerf LoadGen"
		err = readLoadGen(f, file, string(data))
	case bytes.HasPrefix(trimmed, []byte("build_commit,")) || bytes.HasPrefix(trimmed, []byte(`"build_commit",`)):
		f.Tool = "llama-bench"
		err = readLlamaBenchCSV(f, file, data)
	case strings.Contains(string(trimmed[:min(len(trimmed), 4096)]), "INSERT INTO llama_bench") || bytes.HasPrefix(trimmed, []byte("CREATE TABLE IF NOT EXISTS llama_bench")):
		f.Tool = "llama-bench"
		err = readLlamaBenchSQL(f, file, string(data))
	case markdownHead(string(data)) >= 0:
		f.Tool = "llama-bench"
		err = readLlamaBenchMarkdown(f, file, string(data))
	default:
		err = unknown(file)
	}
	if err == nil {
		err = f.finish(file)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) readJSON(file string, data []byte) error {
	all, err := parse(file, data)
	if err != nil {
		return err
	}
	for _, r := range readers {
		if r.knows(all[0]) {
			f.Tool = r.tool
			return r.read(f, all)
		}
	}
	return unknown(file)
}

func unknown(file string) error {
	return &Error{File: file, Says: "no benchmark tool is known that writes this. What can be read: " + strings.Join(Tools(), "; ")}
}

func badLine(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 0
}
