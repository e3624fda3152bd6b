package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime/report"
)

// reads are the commands that answer an agent with what their --json prints: the plan
// follows their words and at most so many arguments of the agent's.
var reads = []struct {
	tool, says string
	command    []string
	of         int
	onPlan     bool
}{
	{"validate", "Every mistake of the plan with its place.", []string{"validate"}, 0, true},
	{
		"plan",
		"What an apply would do with each node and why, launches, seconds, and the smallest effect that these " +
			"launches resolve.",
		[]string{"plan"},
		0, true,
	},
	{"status", "The stack and the newest state of every node.", []string{"status"}, 0, true},
	{"explain", "Why a feature, gate or node (of) got its verdict.", []string{"explain"}, 1, true},
	{"show", "A run (of: its ID or latest) with its decisions and launches.", []string{"show"}, 1, true},
	{
		"compare",
		"The metrics of two recorded runs or features (of) with the change, its 95% interval and p. Decides nothing.",
		[]string{"compare"},
		2, true,
	},
	{
		"profile",
		"Where the profiled baseline, or a feature (of), spends its time, and how the feature differs from its parent.",
		[]string{"profile"},
		1, true,
	},
	{
		"kinds", "The kinds of engine, or one (of) with its settings and observations.",
		[]string{"engine", "kinds"},
		1,
		false,
	},
}

type readAsk struct {
	Of []string `json:"of,omitempty" jsonschema:"what is asked about: a node, a run, two things to compare"`
	JQ string   `json:"jq,omitempty" jsonschema:"a jq expression for the part that is wanted, such as [.nodes[] | {node, action}]"`
}

// addReads adds a tool for each of reads, and one for the JSON Schema.
func (s *server) addReads(to *mcp.Server) {
	for _, r := range reads {
		says := r.says + " As mxflow " + strings.Join(r.command, " ") + " --json."
		addTool(s, to, r.tool, says, true, func(ctx context.Context, ask readAsk) (any, error) {
			if len(ask.Of) > r.of {
				return nil, fmt.Errorf("%s is asked about %d things at most, not %q", r.tool, r.of, ask.Of)
			}
			args := append(slices.Clone(r.command), "--json")
			if r.tool == "validate" || r.tool == "plan" {
				args = append(args, s.Vars...)
			}
			args = append(args, "--")
			switch of := ask.Of; {
			case !r.onPlan:
				args = append(args, of...)
			case r.tool == "profile":
				args = append(append(args, s.Path), of...)
			case len(of) < r.of:
				return nil, fmt.Errorf("%s takes what it is asked about: of, with %d", r.tool, r.of)
			default:
				args = append(append(args, of...), s.Path)
			}
			return s.part(ctx, args, ask.JQ)
		})
	}
	schema := func(ctx context.Context, ask readAsk) (any, error) { return s.part(ctx, []string{"schema"}, ask.JQ) }
	addTool(s, to, "schema", "The JSON Schema of a plan, by jq: .properties and .\"$defs\" have its parts.", true,
		schema)
	addTool(s, to, "limits",
		"What the seal lets an agent propose and measure, what is used of it, and what the plan has beyond it.", true,
		s.limits)
}

// mostAnswered is how long an answer may be, in bytes of JSON.
const mostAnswered = 64 << 10

// part is the JSON that a command prints, or what jq takes from it.
func (s *server) part(ctx context.Context, args []string, jq string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := s.Run(ctx, args)
	if err != nil {
		return nil, err
	}
	var answer any
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	if jq != "" {
		if answer, err = observe.RunJQ(ctx, jq, answer); err != nil {
			return nil, err
		}
		text, err = json.Marshal(answer)
	}
	if err == nil && len(text) > mostAnswered {
		err = fmt.Errorf("the answer has %d kB, more than %d: name the part that is wanted with jq; it is %s",
			len(text)>>10, mostAnswered>>10, shape(answer))
	}
	return answer, err
}

// shape is what JSON consists of, at its top.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if list, ok := v[key].([]any); ok {
				key = fmt.Sprintf("%s[%d]", key, len(list))
			}
			parts = append(parts, "."+key)
		}
		return strings.Join(parts, " ")
	case []any:
		return fmt.Sprintf(".[%d]", len(v))
	}
	return "one value"
}

type nothing struct{}

// LimitsAnswer is what a proposer may do, and how much of it is used.
type LimitsAnswer struct {
	Limits   seal.Limits     `json:"limits"`
	Spent    report.Spending `json:"spent"`
	Proposed []string        `json:"proposed"`
	Moved    []seal.Change   `json:"moved,omitempty"`
	// Chance bounds the chance that any proposal without a gain passes.
	Chance float64 `json:"chance_of_a_false_pass"`
}

func (s *server) limits(context.Context, nothing) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, err := s.Seal()
	if err != nil {
		return nil, err
	}
	loaded, _, err := s.load()
	if err != nil {
		return nil, err
	}
	out := LimitsAnswer{Limits: is.Limits, Proposed: []string{}, Chance: is.Chance()}
	for _, f := range is.Proposed(loaded.Plan) {
		out.Proposed = append(out.Proposed, f.Name)
	}
	if out.Moved, err = is.Changes(loaded.Plan); err != nil {
		return nil, err
	}
	st, err := s.recorded()
	if st != nil {
		defer st.Close()
		out.Spent = report.Spent(st)
	}
	return out, err
}
