package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/zclconf/go-cty/cty"
)

// abArm is one side of a comparison as the command line gives it.
type abArm struct {
	// Flag is "a" or "b", Text what stood there.
	Flag, Text string
	// Env are the assignments before the command, Words the command itself.
	Env   map[string]string
	Words []string
}

var (
	assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)
	// secretFlag is what arguments are called that hold a secret.
	secretFlag = regexp.MustCompile(`^(--(?:api-key|hf-token|auth-token|token|password|secret))(?:=.|$)`)
	// plainAssignment is one that needs no quotes, with what parts it from the next.
	plainAssignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=[^\s'"$` + "`" + `\\|&;<>()*?\[#~]*\s+`)
)

// parseArm reads 'NAME=value… program argument…'.
func parseArm(flag, text string) (abArm, error) {
	arm := abArm{Flag: flag, Text: strings.TrimSpace(text), Env: map[string]string{}}
	words, err := shellWords(arm.Text)
	var shell *needsShell
	switch {
	case errors.As(err, &shell):
		return arm, fmt.Errorf("--%s: %w, and none is started. Write it out, quote it, or start a shell yourself: --%s %s",
			flag, err, flag, shellQuote(throughShell(arm.Text)))
	case err != nil:
		return arm, fmt.Errorf("--%s: %w", flag, err)
	}
	for len(words) > 0 {
		m := assignment.FindStringSubmatch(words[0])
		if m == nil {
			break
		}
		arm.Env[m[1]] = words[0][len(m[0]):]
		words = words[1:]
	}
	if arm.Words = words; len(words) == 0 || words[0] == "" {
		return arm, fmt.Errorf("--%s: there is no command in %q: give the one that starts the server, such as --%s 'KERNEL=marlin ./serve.sh'", flag, text, flag)
	}
	for _, w := range slices.Concat(words, slices.Collect(maps.Values(arm.Env))) {
		if strings.ContainsRune(w, 0) {
			return arm, fmt.Errorf("--%s: a command holds no NUL", flag)
		}
	}
	for _, w := range words {
		if m := secretFlag.FindStringSubmatch(w); m != nil {
			return arm, fmt.Errorf("--%s: what stands behind %s looks like a secret, and would be recorded and stand in the plan: leave it out, or export the variable that the server reads it from", flag, m[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arm.Env)) {
		if redact.SecretName(name) && arm.Env[name] != "" {
			return arm, fmt.Errorf("--%s: %s looks like a secret, and would be recorded and stand in the plan. Export it before instead: the server inherits what mxflow has", flag, name)
		}
	}
	return arm, nil
}

// throughShell is the command run by a shell, its assignments left outside.
func throughShell(text string) string {
	env, rest := "", text
	for {
		m := plainAssignment.FindString(rest)
		if m == "" {
			break
		}
		env, rest = env+strings.TrimSpace(m)+" ", rest[len(m):]
	}
	if !strings.ContainsAny(rest, "|&;\n(") {
		rest = "exec " + rest
	}
	return env + "sh -c '" + strings.ReplaceAll(rest, "'", `'\''`) + "'"
}

// abShape is two arms as one engine and one knob: what they share, and what each
// has of its own.
type abShape struct {
	// Env, Command and Args are the engine's.
	Env     map[string]string
	Command []string
	Args    []string
	Own     [2]abOwn
}

// abOwn is what one value of the knob sets. Command is nil where the engine's
// holds.
type abOwn struct {
	Env           map[string]string
	Command, Args []string
}

// shapeOf takes apart what two commands share and what they do not. Trailing
// arguments that differ become arguments of the knob; where the programs do, or
// words in the middle would fall apart, each has its whole command.
func shapeOf(a, b abArm) (abShape, error) {
	s := abShape{Env: map[string]string{}}
	for i, arm := range []abArm{a, b} {
		other := []abArm{b, a}[i]
		s.Own[i].Env = map[string]string{}
		for name, value := range arm.Env {
			if theirs, has := other.Env[name]; has && theirs == value {
				s.Env[name] = value
			} else {
				s.Own[i].Env[name] = value
			}
		}
	}
	n := 0
	for n < len(a.Words) && n < len(b.Words) && a.Words[n] == b.Words[n] {
		n++
	}
	same := n == len(a.Words) && n == len(b.Words)
	switch {
	case same && len(s.Own[0].Env)+len(s.Own[1].Env) == 0:
		return s, fmt.Errorf("--a and --b are the same command, so there is nothing under test: let them differ in a variable (KERNEL=…), in arguments or in the program")
	case same:
		s.Command = a.Words
	case n == 0:
		s.Command = a.Words
		s.Own[1].Command = b.Words
	default:
		if n > 1 && strings.HasPrefix(a.Words[n-1], "-") {
			n-- // a flag stays with its value
		}
		s.Command = a.Words[:n]
		s.Own[0].Args, s.Own[1].Args = a.Words[n:], b.Words[n:]
	}
	return s, nil
}

// shellWords cuts a command line into words as a POSIX shell does: blanks part
// words, quotes and backslashes keep them together. What only a shell can do
// (pipes, variables, patterns) is an error and not a word, since none is started:
// a server must be the child of mxflow, which stops what it has started.
func shellWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun, though it may be empty: ''
	end := func() {
		if open {
			words = append(words, word.String())
			word.Reset()
			open = false
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			end()
		case c == '\\':
			if i++; i == len(text) {
				return nil, fmt.Errorf("it ends with a backslash, which has nothing to quote")
			}
			if text[i] != '\n' {
				word.WriteByte(text[i])
				open = true
			}
		case c == '\'':
			n := strings.IndexByte(text[i+1:], '\'')
			if n < 0 {
				return nil, fmt.Errorf("the quote ' at character %d is not closed", i+1)
			}
			word.WriteString(text[i+1 : i+1+n])
			i += n + 1
			open = true
		case c == '"':
			n, err := quoted(text[i+1:], &word)
			if err != nil {
				return nil, fmt.Errorf("%w, at character %d", err, i+1)
			}
			i += n
			open = true
		case c == '#' && open:
			word.WriteByte(c)
		case c == '~' && open && !strings.HasSuffix(word.String(), "="):
			word.WriteByte(c)
		case strings.IndexByte("|&;<>()$`*?[#~\n", c) >= 0:
			return nil, &needsShell{char: c, at: i + 1}
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end()
	return words, nil
}

// quoted reads up to the closing double quote, and says how many bytes that is.
func quoted(text string, word *strings.Builder) (int, error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return i + 1, nil
		case '$', '`':
			return 0, &needsShell{char: c, at: i + 1}
		case '\\':
			if i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
				if i++; text[i] != '\n' {
					word.WriteByte(text[i])
				}
				continue
			}
			word.WriteByte(c)
		default:
			word.WriteByte(c)
		}
	}
	return 0, fmt.Errorf("the quote \" is not closed")
}

// needsShell is a character that means something to a shell alone.
type needsShell struct {
	char byte
	at   int
}

func (e *needsShell) Error() string {
	what := map[byte]string{
		'|': "a pipe", '&': "an operator", ';': "an operator", '<': "a redirection", '>': "a redirection", '(': "a group", ')': "a group",
		'$': "a variable or a command's output", '`': "a command's output", '*': "a pattern of file names", '?': "a pattern of file names",
		'[': "a pattern of file names", '#': "a comment", '~': "a home folder", '\n': "a new line",
	}[e.char]
	return fmt.Sprintf("%q is %s, which takes a shell", string(e.char), what)
}

// shellQuote writes a word so that a shell reads it as it is.
func shellQuote(word string) string {
	if held, ok := strings.CutSuffix(word, "{port}"); ok && (held == "" || shellQuoted(held) == held) {
		return word
	}
	return shellQuoted(word)
}

func shellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellQuote(w)
	}
	return strings.Join(quoted, " ")
}

// abClaim is the question that a comparison answers: by how much B has to be
// better than A, or may be worse.
type abClaim struct {
	Metric measure.Metric
	// Gain is the least relative improvement in the metric's better direction:
	// 0.10 is 10% better, −0.03 up to 3% worse.
	Gain float64
	// Given is false where nobody claimed anything.
	Given bool
}

// notWorse is the question where nothing is claimed: whether B is no more than
// this much worse. Whether it is better stands in the interval.
const notWorse = 0.03

var claimText = regexp.MustCompile(`^([+-])\s*([0-9]+(?:\.[0-9]+)?)\s*(%|x)?$`)

// abMetrics are those that a claim can be about: each request, or each cell of
// the only one, has a positive number of it with a better direction.
func abMetrics() (list []measure.Metric) {
	for _, m := range measure.Catalogue() {
		if slices.Contains([]string{"tg", "pp", "ttft", "tpot", "e2e", "itl", "tg_total", "pp_total"}, m.Name) {
			list = append(list, m)
		}
	}
	return list
}

func parseClaim(metric, text string) (abClaim, error) {
	c := abClaim{Gain: -notWorse}
	var names []string
	for _, m := range abMetrics() {
		names = append(names, m.Name)
		if m.Name == metric {
			c.Metric = m
		}
	}
	if c.Metric.Name == "" {
		return c, fmt.Errorf("--metric: %q is none of %s", metric, strings.Join(names, ", "))
	}
	if text == "" {
		return c, nil
	}
	m := claimText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[3] != "%" {
		return c, fmt.Errorf("--claim: %q is no change: write '+10%%' for at least 10%% more, or '-3%%' for at most 3%% less", text)
	}
	n, err := strconv.ParseFloat(m[1]+m[2], 64)
	if err != nil || math.IsInf(n, 0) {
		return c, fmt.Errorf("--claim: %q is no change", text)
	}
	c.Given, c.Gain = true, n/100
	if c.Metric.Better == measure.Lower {
		c.Gain = -c.Gain
	}
	switch {
	case c.Gain <= -0.9 || c.Gain > 1000 || c.Metric.Better == measure.Lower && c.Gain >= 0.999:
		return c, fmt.Errorf("--claim: %s of %s is out of reach", text, metric)
	case c.Gain == 0:
		c.Gain = 0 // −0 is written as 0
	}
	return c, nil
}

// rule is the claim as the plan has it.
func (c abClaim) rule() string {
	return fmt.Sprintf("bench.%s.gain >= %s", c.Metric.Name, strconv.FormatFloat(c.Gain, 'f', -1, 64))
}

// lower is set where less is better.
func (c abClaim) lower() bool { return c.Metric.Better == measure.Lower }

// change turns an improvement into the signed change of the metric.
func (c abClaim) change(gain float64) float64 {
	if c.lower() {
		return -gain
	}
	return gain
}

// says is the claim as a sentence about B without its subject.
func (c abClaim) says(label string) string { return c.sentence(label, true) }

// not is the opposite of the claim as such a sentence.
func (c abClaim) not(label string) string { return c.sentence(label, false) }

func (c abClaim) sentence(label string, holds bool) string {
	size := strconv.FormatFloat(math.Round(math.Abs(c.Gain)*1e6)/1e4, 'f', -1, 64) + "%"
	pick := func(yes, no string) string {
		if holds {
			return yes
		}
		return no
	}
	text := ""
	switch { // of what is lower where it is better, all are times
	case c.Gain > 0 && c.lower():
		text = pick("takes at least ", "does not take ") + size + " less time"
	case c.Gain > 0:
		text = pick("is at least ", "is less than ") + size + " faster"
	case c.Gain == 0 && c.lower():
		text = pick("takes no more time", "takes more time")
	case c.Gain == 0:
		text = pick("is not slower", "is slower")
	case c.lower():
		text = pick("takes at most ", "takes more than ") + size + " more time"
	default:
		text = pick("is at most ", "is more than ") + size + " slower"
	}
	return fmt.Sprintf("%s than A (%s)", text, label)
}

// worse says beside a fail that B is worse than A, where the bounds show it: "less
// than 10% faster" may be either.
func (r *abResult) worse(c abClaim) string {
	if r.Low == nil || r.High == nil || !c.Given {
		return ""
	}
	switch {
	case c.lower() && *r.Low > 0:
		return fmt.Sprintf(" It takes more, by %s at least.", percent(*r.Low))
	case !c.lower() && *r.High < 0:
		return fmt.Sprintf(" It is slower, by %s at least.", percent(*r.High))
	}
	return ""
}

// hclText is a text as HCL writes it, with nothing in it evaluated.
func hclText(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func hclList(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = hclText(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func hclMap(m map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, name+" = "+hclText(m[name]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// planWriter lays out blocks; hclwrite aligns what stands in them.
type planWriter struct{ b strings.Builder }

func (w *planWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// list, texts and table write an attribute where it holds anything.
func (w *planWriter) list(name string, list []string) {
	if len(list) > 0 {
		w.line("%s = %s", name, hclList(list))
	}
}

func (w *planWriter) table(name string, m map[string]string) {
	if len(m) > 0 {
		w.line("%s = %s", name, hclMap(m))
	}
}

func (w *planWriter) text(name, value string) {
	if value != "" {
		w.line("%s = %s", name, hclText(value))
	}
}

func (w *planWriter) number(name string, n int) { w.line("%s = %d", name, n) }

// plan is the comparison as a plan, for a file in that folder; the servers are
// started in workDir.
func (q *ab) plan(folder, workDir string) ([]byte, error) {
	dir, err := filepath.Rel(folder, workDir)
	if err != nil {
		return nil, err
	}
	w := &planWriter{}
	w.line("# B against A, as this command compares them:\n#")
	w.line("#   %s", strings.ReplaceAll(q.commandLine, "\n", " "))
	w.line("\nplan \"ab\" {\nsummary = %s\n}\n", hclText("Whether B ("+oneLine(q.arms[1].Text)+") "+q.claim.says(q.label())))
	q.planEngine(w, dir)
	q.planKnob(w)
	q.planWorkload(w)
	w.line("protocol \"ab\" {\nlevel \"smoke\" {")
	switch {
	case q.expect != "":
		w.text("expect", q.expect)
	default:
		w.line("pattern = \"[[:alpha:]]{2}\" # any words; answers of B are compared with those of A")
	}
	if q.api != "completions" {
		w.text("api", q.api)
	}
	w.line("}")
	if q.proves() {
		w.line("level \"kernels\" {}")
	}
	w.line("level \"benchmark\" {\nworkloads = [workload.bench]")
	w.number("launches", q.most())
	w.line("}\n}\n\nbaseline {\nengine = engine.%s.ab # with ab = \"A\"\nprotocol = protocol.ab", q.kind.Name)
	w.list("accept_fingerprint", q.accept)
	w.line("}\n\nphase \"ab\" {\nfeature \"B\" {\nset = { ab = \"B\" }\n")
	w.line("criterion \"claim\" {\nrule = %s\n}\n}\n}", hclText(q.claim.rule()))
	return hclwrite.Format([]byte(w.b.String())), nil
}

func (q *ab) planEngine(w *planWriter, dir string) {
	w.line("engine %s \"ab\" {", hclText(q.kind.Name))
	w.text("model", q.model)
	w.table("env", q.shape.Env)
	w.list("args", q.shape.Args)
	if q.model != "" || len(q.shape.Env)+len(q.shape.Args) > 0 {
		w.line("")
	}
	w.line("process {\ncommand = %s", hclList(q.shape.Command))
	if dir != "." {
		w.text("dir", filepath.ToSlash(dir))
	}
	if q.port != 0 {
		w.number("port", q.port)
	}
	w.line("}")
	if state := map[string]string{"own": "warm", "cold": "cold"}[q.caches]; state != "" && q.kind.Name != "embedded" {
		w.line("caches {\nstate = %q\n}", state) // the embedded engine compiles nothing
	}
	if q.timeout > 0 {
		w.line("ready {\ntimeout = %s\n}", hclText(q.timeout.String()))
	}
	w.line("}\n")
}

// planKnob is what A and B differ in, and how each proves what it is: what is a
// sign of one must not be seen of the other.
func (q *ab) planKnob(w *planWriter) {
	w.line("knob \"ab\" {\ndefault = \"A\"")
	w.list("changes", q.changes)
	signs := [2][]string{q.mustSeeA, q.mustSeeB}
	for i, name := range []string{"A", "B"} {
		own := q.shape.Own[i]
		w.line("\nvalue %q {", name)
		w.table("env", own.Env)
		w.list("args", own.Args)
		w.list("command", own.Command)
		not := slices.DeleteFunc(slices.Clone(signs[1-i]), func(g string) bool {
			return slices.ContainsFunc(signs[i], func(mine string) bool { return strings.EqualFold(mine, g) })
		})
		if len(signs[i]) > 0 {
			w.line("must_see {\nlog = %s\n}", hclList(signs[i]))
		}
		if len(not) > 0 {
			w.line("must_not_see {\nlog = %s\n}", hclList(not))
		}
		w.line("}")
	}
	w.line("}\n")
}

func (q *ab) planWorkload(w *planWriter) {
	w.line("workload \"bench\" {")
	w.number("prompt_tokens", q.pp)
	w.number("output_tokens", q.tg)
	if q.depth > 0 {
		w.number("depth", q.depth)
	}
	if q.concurrency > 1 {
		w.number("concurrency", q.concurrency)
	}
	w.number("requests", q.requests)
	w.number("warmup", q.warmup)
	if q.api != "completions" {
		w.text("api", q.api)
	}
	w.text("coherence", q.coherence)
	if q.maxLag > 0 {
		w.text("max_lag", q.maxLag.String())
	}
	w.line("}\n")
}

// label is the cell as the field names it: "pp2048 tg32 @ d4096 c4".
func (q *ab) label() string {
	name := q.claim.Metric.Name
	switch name {
	case "tg", "tg_total":
		name = strings.Replace(name, "tg", "tg"+strconv.Itoa(q.tg), 1)
	case "pp", "pp_total":
		name = strings.Replace(name, "pp", "pp"+strconv.Itoa(q.pp), 1)
	}
	return name + q.load()
}

// load is what stands behind a metric's name: depth and requests at once.
func (q *ab) load() (text string) {
	if q.depth > 0 {
		text += fmt.Sprintf(" @ d%d", q.depth)
	}
	if q.concurrency > 1 {
		text += fmt.Sprintf(" c%d", q.concurrency)
	}
	return text
}

// proves reports whether anything is to be seen in the logs.
func (q *ab) proves() bool { return len(q.mustSeeA)+len(q.mustSeeB) > 0 }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
