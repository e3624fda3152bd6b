package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Code is a stable name for one kind of mistake, for programs that read
// diagnostics and for people who look one up. Summaries may be reworded; codes
// stay.
type Code struct {
	// Name is the code: lower case, words joined by hyphens.
	Name string
	// Summaries are the diagnostics it stands for. One that ends in * stands
	// for all that begin so and are not listed elsewhere.
	Summaries []string
	// Cause says how a plan gets there, Cure what to do.
	Cause, Cure string
}

// Coded is the Extra of a diagnostic that was made here: its code.
type Coded string

// DiagnosticCode is the code.
func (c Coded) DiagnosticCode() string { return string(c) }

// OtherCode is the code of what has none in the table.
const OtherCode = "other"

// Codes are all codes, in the order in which the manual explains them.
func Codes() []Code {
	return slices.Concat(fileCodes, syntaxCodes, yamlCodes, nameCodes, valueCodes, blockCodes, decisionCodes, workloadCodes, ruleCodes, checkCodes, caseCodes, commandCodes, expressionCodes, languageCodes)
}

// CodeOf is the code of a diagnostic.
func CodeOf(d *hcl.Diagnostic) string {
	if coded, ok := hcl.DiagnosticExtra[interface{ DiagnosticCode() string }](d); ok {
		if code := coded.DiagnosticCode(); code != "" {
			return code
		}
		return OtherCode
	}
	// What the parsers of HCL find has no codes but these.
	if c := codes.of(d.Summary); c != nil {
		return c.Name
	}
	return OtherCode
}

// codeIndex finds codes by summary.
type codeIndex struct {
	exact    map[string]*Code
	prefixes []prefixCode
}

type prefixCode struct {
	prefix string
	code   *Code
}

var codes = indexCodes(Codes())

func indexCodes(list []Code) codeIndex {
	index := codeIndex{exact: map[string]*Code{}}
	for i := range list {
		for _, s := range list[i].Summaries {
			if prefix, open := strings.CutSuffix(s, "*"); open {
				index.prefixes = append(index.prefixes, prefixCode{prefix, &list[i]})
			} else {
				index.exact[s] = &list[i]
			}
		}
	}
	// The longest prefix says most.
	slices.SortStableFunc(index.prefixes, func(a, b prefixCode) int { return len(b.prefix) - len(a.prefix) })
	return index
}

func (index codeIndex) of(words string) *Code {
	if c := index.exact[words]; c != nil {
		return c
	}
	for _, p := range index.prefixes {
		if strings.HasPrefix(words, p.prefix) {
			return p.code
		}
	}
	return nil
}
