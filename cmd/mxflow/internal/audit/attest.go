package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// inToto is the media type of in-toto statements.
const inToto = "application/vnd.in-toto+json"

// predicates are the supported predicate types, by short name.
var predicates = map[string]string{
	"test-result": "https://in-toto.io/attestation/test-result/v0.1",
	"decisions":   "https://github.com/mxflow/mxflow/attestation/decisions/v1",
}

// statement is an in-toto Statement v1.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     any        `json:"predicate"`
}

// resource is an in-toto ResourceDescriptor.
type resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// testResult is the predicate test-result v0.1. What is neither passed nor waived failed:
// an inconclusive gate, one that is locked or was never reached.
type testResult struct {
	Result        string     `json:"result"`
	Configuration []resource `json:"configuration"`
	PassedTests   []string   `json:"passedTests,omitempty"`
	WarnedTests   []string   `json:"warnedTests,omitempty"`
	FailedTests   []string   `json:"failedTests,omitempty"`
}

// decisions is mxflow's own predicate: every standing decision as the ledger has it, with
// rules, values and intervals.
type decisions struct {
	Plan       string          `json:"plan"`
	Tool       string          `json:"tool"`
	Ledger     ledger.State    `json:"ledger"`
	Checkpoint string          `json:"checkpoint"`
	Result     string          `json:"result"`
	Decisions  []store.Decided `json:"decisions"`
}

func newAttestCommand(h Host) *cobra.Command {
	var predicate, out string
	var subjects []string
	c := &cobra.Command{
		Use:   "attest [PLAN]",
		Short: "Write the results as a signed in-toto statement",
		Long: `Writes an in-toto Statement v1 in a DSSE envelope, signed with your key: the form in
which cosign, policy engines and package registries read test results.

  test-result  passed, warned (waived) and failed gates and features. PASSED if every
               gate passed, WARNED if one was waived, otherwise FAILED
  decisions    mxflow's own: every standing decision with rules, values and intervals,
               and the signed checkpoint of the ledger

The subject is the ledger, and each file of --subject: the build or the export that the
results are about. What does not verify is not attested.`,
		Example: "  mxflow audit attest --subject build/server -o results.json plan.hcl\n" +
			"  mxflow audit key --format pem > kim.pem\n" +
			"  cosign verify-blob-attestation --insecure-ignore-tlog --key kim.pem --signature results.json \\\n" +
			"    --type https://in-toto.io/attestation/test-result/v0.1 build/server",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if predicates[predicate] == "" {
				return fmt.Errorf("--predicate %s: use test-result or decisions", predicate)
			}
			key, err := ownKey()
			if err != nil {
				return err
			}
			return h.whole(h.Reader, args, key.Public, func(st *store.Store, checked ledger.Report, _ string) error {
				s, err := attested(st, checked, predicate, subjects)
				if err != nil {
					return err
				}
				text, err := json.Marshal(s)
				if err != nil {
					return err
				}
				signed, err := key.Envelope(inToto, text)
				if err != nil {
					return err
				}
				signed = append(signed, '\n')
				if out == "" {
					_, err := h.Stdout.Write(signed)
					return err
				}
				return h.Write("out", out, signed)
			})
		},
	}
	c.Flags().StringVar(&predicate, "predicate", "test-result", "test-result or decisions")
	c.Flags().StringArrayVar(&subjects, "subject", nil, "`file` that the results are about (repeatable)")
	c.Flags().StringVarP(&out, "out", "o", "", "new `file` instead of standard output")
	return c
}

// attested is the statement about a ledger that verifies.
func attested(st *store.Store, checked ledger.Report, predicate string, files []string) (*statement, error) {
	s := &statement{Type: "https://in-toto.io/Statement/v1", PredicateType: predicates[predicate]}
	for _, file := range append([]string{st.LedgerPath()}, files...) {
		r, err := fileResource(file)
		if err != nil {
			return nil, fmt.Errorf("--subject: %w", err)
		}
		s.Subject = append(s.Subject, r)
	}
	run, err := st.Run("latest")
	if err != nil {
		return nil, err
	}
	if run.Start == nil {
		return nil, fmt.Errorf("run %s never recorded its plan", run.ID)
	}
	result := resultsOf(st, time.Now())
	result.Configuration = []resource{{filepath.Base(run.PlanFile), map[string]string{"sha256": run.Start.PlanSource}}}
	s.Predicate = result
	if predicate == "decisions" {
		s.Predicate = decisions{
			Plan: run.Plan, Tool: run.Start.Tool, Ledger: ledger.State{Size: checked.Size, Root: checked.Root}, Checkpoint: string(checked.Note),
			Result: result.Result, Decisions: report.Standing(st),
		}
	}
	return s, nil
}

func fileResource(path string) (resource, error) {
	f, err := os.Open(path)
	if err != nil {
		return resource{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return resource{}, err
	}
	return resource{filepath.Base(path), map[string]string{"sha256": hex.EncodeToString(h.Sum(nil))}}, nil
}

// resultsOf are the gates and features of the plan, and the join of the gates.
func resultsOf(st *store.Store, now time.Time) testResult {
	r := testResult{Result: "FAILED"}
	gates, waived, failed := 0, 0, 0
	for _, row := range report.Rows(st) {
		kind, name, _ := strings.Cut(row.Node, ".")
		if row.Gone || kind != "phase" && kind != "feature" || strings.Contains(name, ".") {
			continue
		}
		gate := kind == "phase"
		if gate {
			gates++
		}
		switch {
		case row.Decided != nil && row.Decided.Verdict == verdict.Pass:
			r.PassedTests = append(r.PassedTests, row.Node)
		case row.Decided != nil && report.OverruledOf(row.Decided.Decision, st.Waiver(row.Node), now).State == "waived":
			r.WarnedTests = append(r.WarnedTests, row.Node)
			if gate {
				waived++
			}
		default:
			r.FailedTests = append(r.FailedTests, row.Node)
			if gate {
				failed++
			}
		}
	}
	switch {
	case gates == 0 || failed > 0:
	case waived > 0:
		r.Result = "WARNED"
	default:
		r.Result = "PASSED"
	}
	return r
}
