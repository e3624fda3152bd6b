package load

import (
	_ "embed"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
)

func digestOf(t *testing.T, src []byte) string {
	t.Helper()
	res := Bytes("testdata/valid/other_name.hcl", src, planstest.Registry(), Options{})
	if !res.OK() {
		t.Fatalf("%s\n%s", planstest.Text(&res.Findings), src)
	}
	return res.Plan.Digest()
}

// TestDigestIgnoresFormatting changes layout, comments and the order of blocks at random, and expects the same digest.
func TestDigestIgnoresFormatting(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, path := range fixtures(t, "valid/*.hcl", 1) {
		src := must.Get(os.ReadFile(path))(t)
		want := digestOf(t, src)
		if len(want) != 64 {
			t.Fatalf("digest %q", want)
		}
		for range 6 {
			variant := respaced(src, random)
			variant = shuffled(t, variant, random)
			if got := digestOf(t, variant); got != want {
				t.Fatalf("%s: digest changed with\n%s", path, variant)
			}
		}
	}
}

// respaced writes the tokens of a plan with other spaces between them, and with other
// comments and empty lines at the ends of its lines.
func respaced(src []byte, random *rand.Rand) []byte {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	var b strings.Builder
	text := 0 // how many strings and heredocs we are in: their spaces are theirs
	end := 0
	for i, t := range tokens {
		gap := src[end:t.Range.Start.Byte]
		end = t.Range.End.Byte
		if text > 0 {
			b.Write(gap)
		} else if t.Type != hclsyntax.TokenNewline {
			b.WriteString(strings.Repeat(" ", 1+random.Intn(4)))
		}
		switch t.Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			text++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			text--
		case hclsyntax.TokenComment:
			if strings.HasSuffix(string(t.Bytes), "\n") {
				b.WriteByte('\n')
			}
			continue
		case hclsyntax.TokenNewline:
			if i > 0 && tokens[i-1].Type == hclsyntax.TokenCHeredoc {
				break // nothing may follow a heredoc's end on its line
			}
			b.WriteString([]string{"", " # a comment", " // another\n\n", " /* and\none more */", "\n"}[random.Intn(5)])
		}
		b.Write(t.Bytes)
	}
	return []byte(b.String())
}

// shuffled puts the blocks of a plan in another order.
func shuffled(t *testing.T, src []byte, random *rand.Rand) []byte {
	t.Helper()
	file, diags := hclsyntax.ParseConfig(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var blocks []string
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		blocks = append(blocks, string(b.Range().SliceBytes(src)))
	}
	random.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	return []byte(strings.Join(blocks, "\n") + "\n")
}

func TestDigestFollowsMeaning(t *testing.T) {
	src := must.Get(os.ReadFile("testdata/valid/mxfp4.hcl"))(t)
	base := digestOf(t, src)
	with := func(decision string) string { return digestOf(t, append([]byte(decision+"\n"), src...)) }
	for _, same := range []string{
		"decision {}", "decision {\n false_pass = 0.01\n launches = { max = 8, min = 2 }\n}",
		"decision {\n launches = {}\n}",
		"report {\n columns = [\"chat.tg32\", { column = \"engine.startup_s\", heading = \"Startup\" }]\n}",
	} {
		if with(same) != base {
			t.Errorf("%s changes the digest, and says what holds without it", same)
		}
	}
	for _, other := range []string{
		"false_pass = 0.02", "false_fail = 0.1", "launches = { min = 4 }",
		"launches = { max = 12 }",
	} {
		if with("decision {\n "+other+"\n}") == base {
			t.Errorf("%s does not change the digest", other)
		}
	}
	replace := func(old, text string) string {
		if !strings.Contains(string(src), old) {
			t.Fatalf("no %q", old)
		}
		return digestOf(t, []byte(strings.Replace(string(src), old, text, 1)))
	}
	same := map[string]string{
		`least  = 0.1`:        `least  = 0.10`,
		`model = var.model`:   `model = "openai/gpt-oss-120b"`,
		`requests      = 10`:  ``,
		`accept = ["decode"]`: `accept = [join("", ["de", "code"])]`,
	}
	for old, text := range same {
		if replace(old, text) != base {
			t.Errorf("%q for %q changes the digest", text, old)
		}
	}
	for old, text := range map[string]string{
		`least  = 0.1`:             `least  = 0.2`,
		`requests      = 10`:       `requests      = 11`,
		`[128, 512]`:               `[512, 128]`,
		`default = "embedded"`:     `default = "openai"`,
		`accept = ["decode"]`:      ``,
		`"-b", "mxfp4_v2"`:         `"mxfp4_v2", "-b"`,
		`log = ["*marlin_moe*"]`:   `log = ["*marlin*"]`,
		`after_decided`:            `after`,
		`launches  = 6`:            `launches  = 4`,
		`expect  = "+10%"`:         `expect  = "+11%"`,
		`builds_on = accepted`:     `builds_on = baseline`,
		`VLLM_ATTENTION_BACKEND =`: `VLLM_ATTENTION =`,
	} {
		if replace(old, text) == base {
			t.Errorf("%q for %q leaves the digest", text, old)
		}
	}
}

// TestDigestsStay pins the digest of every valid plan here: a digest that moves makes recorded plans look changed.
func TestDigestsStay(t *testing.T) {
	text := ""
	for _, path := range append(fixtures(t, "valid/*.hcl", 1), fixtures(t, "valid_yaml/*.yaml", 1)...) {
		text += mustLoad(t, path).Digest() + " " + path + "\n"
	}
	golden(t, "testdata/digests.golden", text)
}

const (
	teamEngines   = "engine \"embedded\" \"tiny\" {\n  settings = { threads = var.threads }\n}\n"
	teamProtocols = "include = [\"workloads.hcl\"]\nprotocol \"standard\" {\n  level \"benchmark\" {\n    workloads " +
		"= [workload.chat]\n  }\n}\n"
	teamWorkloads = "workload \"chat\" {\n  prompt_tokens = 64\n  output_tokens = 16\n}\n"
	ownPlan       = "plan \"p\" {}\nvariable \"threads\" {\n  default = 2\n}\nbaseline {\n  engine   = " +
		"engine.embedded.tiny\n  protocol = protocol.standard\n}\n"
)

func TestIncludedFilesArePartOfThePlan(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"port/plan.hcl": "include = [\"../team/engines.hcl\", \"../team/protocols.hcl\", " +
			"\"../team/engines.hcl\"]\n" + ownPlan,
		"team/engines.hcl":   teamEngines,
		"team/protocols.hcl": teamProtocols,
		"team/workloads.hcl": teamWorkloads,
	})
	path := filepath.Join(dir, "port", "plan.hcl")
	res := Path(path, planstest.Registry(), Options{})
	if len(res.Diagnostics) > 0 {
		t.Fatal(planstest.Text(&res.Findings))
	}
	if p := res.Plan; p.Engine("embedded.tiny") == nil || p.Workload("chat") == nil ||
		p.Dir != filepath.Join(dir, "port") {
		t.Errorf("%+v", p)
	}
	var names []string
	for name := range res.Sources {
		rel, _ := filepath.Rel(dir, name)
		names = append(names, filepath.ToSlash(rel))
	}
	sort.Strings(names)
	if got := strings.Join(names, " "); got != "port/plan.hcl team/engines.hcl team/protocols.hcl team/workloads.hcl" {
		t.Errorf("sources %s", got)
	}
	if string(res.Source) != string(res.Sources[path]) {
		t.Error("the first source is not the plan")
	}
	// The files that a plan consists of do not matter to its meaning.
	whole := loadText(ownPlan + teamEngines + strings.TrimPrefix(teamProtocols, "include = [\"workloads.hcl\"]\n") +
		teamWorkloads)
	if whole.Plan.Digest() != res.Plan.Digest() {
		t.Error("the digest is another one than in a single file")
	}
}

func TestAFolderIsAPlan(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"b_plan.hcl": ownPlan, "a_engines.hcl": teamEngines, "c.hcl": teamProtocols, "workloads.hcl": teamWorkloads,
		"notes.txt": "no plan", ".hidden.hcl": "broken {", "x.auto.mxvars": "threads = 5\n",
	})
	res := Path(dir, planstest.Registry(), Options{})
	if len(res.Diagnostics) > 0 {
		t.Fatal(planstest.Text(&res.Findings))
	}
	if got := res.Plan.Engine("embedded.tiny").Settings["threads"]; got != 5.0 || res.Plan.Dir != dir {
		t.Errorf("threads %v in %s", got, res.Plan.Dir)
	}
}

func TestMistakesNameTheirFile(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in an included file": {
			map[string]string{
				"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n",
				"team.hcl": "\nworkload \"chat\" {\n  prompt_tokens = local.x\n  output_tokens = 8\n}\n",
			},
			"team.hcl:3 Unknown local",
		},
		"syntax of an included file": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n", "team.hcl": "workload {{\n"},
			"team.hcl:1 Argument or block definition required",
		},
		"a rule in an included file": {
			map[string]string{
				"plan.hcl": "include = [\"team.hcl\"]\n" + ownPlan + teamWorkloads + teamEngines +
					strings.TrimPrefix(teamProtocols, "include = [\"workloads.hcl\"]\n"),
				"team.hcl": "phase \"x\" {\n  gate {\n    rule \"r\" {\n      rule = \"feature['y'].decided\"\n " +
					"   }\n  }\n}\n",
			},
			"team.hcl:4 Unknown feature",
		},
		"declared in two files": {
			map[string]string{
				"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n" + teamWorkloads,
				"team.hcl": teamWorkloads,
			},
			"team.hcl:1 Duplicate workload",
		},
		"a plan in an included file": {
			map[string]string{"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n", "team.hcl": "plan \"q\" {}\n"},
			"team.hcl:1 Plan block in an included file",
		},
		"a circle": {
			map[string]string{
				"plan.hcl": "include = [\"team.hcl\"]\nplan \"p\" {}\n",
				"team.hcl": "include = [\"./plan.hcl\"]\n",
			},
			"plan.hcl:2 Plan decides nothing",
		},
		"an included folder": {
			map[string]string{"plan.hcl": "include = [\"team\"]\nplan \"p\" {}\n", "team/x.hcl": teamWorkloads},
			"plan.hcl:1 Cannot include file",
		},
		"an unused attribute": {
			map[string]string{"plan.hcl": "includes = [\"team.hcl\"]\nplan \"p\" {}\n"},
			"plan.hcl:1 Unsupported argument",
		},
	} {
		dir := writeFiles(t, test.files)
		res := Path(filepath.Join(dir, "plan.hcl"), planstest.Registry(), Options{})
		var got []string
		for _, d := range res.DiagnosticsJSON() {
			got = append(got, filepath.Base(d.File)+":"+strconv.Itoa(d.Line)+" "+d.Summary)
			if d.Snippet == "" {
				t.Errorf("%s: no snippet", name)
			}
		}
		if g := strings.Join(got, " | "); g != test.want {
			t.Errorf("%s: got %s, want %s\n%s", name, g, test.want, planstest.Text(&res.Findings))
		}
	}
}

// planOf loads a plan of one workload, which must be valid.
func planOf(t *testing.T, body string) *plans.Plan {
	t.Helper()
	res := Bytes("testdata/valid/plan.hcl", []byte("plan \"p\" {}\nworkload \"w\" {\n"+body+"\n}\n"),
		planstest.Registry(), Options{})
	if !res.OK() {
		t.Fatalf("%s\n%s", body, planstest.Text(&res.Findings))
	}
	return res.Plan
}

// checkCells compares what cells of workloads are.
func checkCells(t *testing.T, wants map[string]string, of func(plans.Cell) string) {
	t.Helper()
	for body, want := range wants {
		var got []string
		for _, c := range planOf(t, body).Workloads[0].Cells() {
			got = append(got, of(c))
		}
		must.Equal(t, body, strings.Join(got, " | "), want)
	}
}

const lengths8 = "prompt_tokens = 8\noutput_tokens = 8\n"

func TestCellsOfAllDimensions(t *testing.T) {
	checkCells(t, map[string]string{
		lengths8: "w=pp8 tg8",
		"prompt_tokens = [8, 16]\noutput_tokens = [4]\ndepth = [0, 64]\n" +
			"concurrency = [1, 2]": "w.p8.o4.d0.c1=pp8 tg4, c1 | w.p8.o4.d0.c2=pp8 tg4, c2 | " +
			"w.p8.o4.d64.c1=pp8 tg4 @ d64, c1 | w.p8.o4.d64.c2=pp8 tg4 @ d64, c2 | w.p16.o4.d0.c1=pp16 tg4, c1 | " +
			"w.p16.o4.d0.c2=pp16 tg4, c2 | " +
			"w.p16.o4.d64.c1=pp16 tg4 @ d64, c1 | w.p16.o4.d64.c2=pp16 tg4 @ d64, c2",
		lengths8 + "depth = 64\nconcurrency = 4": "w=pp8 tg8 @ d64, c4",
		lengths8 +
			"rate = [1, 2.5, 0.125]": "w.r1=pp8 tg8, 1 req/s | w.r2_5=pp8 tg8, 2.5 req/s | w.r0_125=pp8 tg8, 0.125 " +
			"req/s",
		lengths8 + "rate = 2\nmax_concurrency = 4":                                               "w=pp8 tg8, 2 req/s",
		"output_tokens = 8\nprompt_lengths {\ndistribution = \"uniform\"\nmin = 10\nmax = 21\n}": "w=pp~15.5 tg8",
		"dataset {\nfile = \"prompts.jsonl\"\n}\nwarmup = 0":                                     "w=pp* tg*",
		"prompt_tokens = 8\noutput_tokens = [4]":                                                 "w.o4=pp8 tg4",
		"trace = \"../invalid/workload_trace.jsonl\"": "w=pp~556 tg~39, " +
			"workload_trace.jsonl",
	}, func(c plans.Cell) string { return c.Address + "=" + c.Label })
}

// TestRequestsOfCells: the measured and the warmup requests of each cell.
func TestRequestsOfCells(t *testing.T) {
	checkCells(t, map[string]string{
		lengths8:                                                           "10+3",
		lengths8 + "concurrency = [1, 2, 3, 16]":                           "10+3 | 10+3 | 12+3 | 64+16",
		lengths8 + "concurrency = 16\nrequests = 20":                       "20+16",
		lengths8 + "concurrency = 4\nduration = \"1m\"":                    "800+4",
		lengths8 + "rate = [0.1, 2.5]":                                     "10+3 | 150+3",
		lengths8 + "rate = 10\nduration = \"10s\"":                         "166+3",
		lengths8 + "rate = 100000\nmax_concurrency = 64":                   "1000000+3",
		"dataset {\nfile = \"prompts.jsonl\"\n}\nrequests = 2\nwarmup = 2": "2+2",
		"trace = \"../invalid/workload_trace.jsonl\"":                      "2+3",
	}, func(c plans.Cell) string { return fmt.Sprintf("%d+%d", c.Requests, c.Warmup) })
}

// TestNewWorkloadIsThatOfAPlan: the defaults are the same without a plan.
func TestNewWorkloadIsThatOfAPlan(t *testing.T) {
	want := planOf(t, lengths8).Workloads[0]
	got := plans.NewWorkload("w")
	got.PromptTokens, got.OutputTokens, got.Range = []int{8}, []int{8}, want.Range
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestDatasetIsPartOfTheDigest: by its content, not by its path.
func TestDatasetIsPartOfTheDigest(t *testing.T) {
	digest := func(file string) string {
		return planOf(t, "output_tokens = 4\nwarmup = 0\nrequests = 1\ndataset {\nfile = \""+file+"\"\n}").Digest()
	}
	if digest("prompts.jsonl") != digest("../valid/prompts.jsonl") {
		t.Error("the way to the file counts")
	}
	if digest("prompts.jsonl") == digest("../other.jsonl") {
		t.Error("the content does not count")
	}
}

// TestTraceIsPartOfTheDigest: by its content and by what is sent of it, not by its path.
func TestTraceIsPartOfTheDigest(t *testing.T) {
	digest := func(body string) string { return planOf(t, body).Digest() }
	is := digest("trace = \"../invalid/workload_trace.jsonl\"")
	if is != digest("trace = \"../valid/../invalid/workload_trace.jsonl\"\nconcurrency = null") {
		t.Error("the way to the file counts")
	}
	for _, other := range []string{
		"trace = \"../invalid/workload_rows_timed.jsonl\"\napi = \"chat\"\noutput_tokens = 4",
		"trace = \"../invalid/workload_trace.jsonl\"\nspeed = 2",
		"trace = \"../invalid/workload_trace.jsonl\"\nmax_prompt_tokens = 100",
		"trace = \"../invalid/workload_trace.jsonl\"\nfrom = \"1s\"",
	} {
		if digest(other) == is {
			t.Errorf("does not count: %s", other)
		}
	}
}

// TestHugeNumbersOfCells: a few characters must not keep the machine busy.
func TestHugeNumbersOfCells(t *testing.T) {
	list := strings.Trim(numbered(64, func(i int) string { return fmt.Sprintf("%d, ", i) }), ", ")
	body := ""
	for _, name := range []string{"prompt_tokens", "output_tokens", "depth", "concurrency", "rate"} {
		body += name + " = [" + list + "]\n"
	}
	res := loadText("plan \"p\" {}\nworkload \"w\" {\n" + body + "}\n")
	if got := summaries(res); !strings.Contains(got, "Too many cells") || len(res.Plan.Workloads[0].Cells()) > 1 {
		t.Errorf("%s, %d cells", got, len(res.Plan.Workloads[0].Cells()))
	}
}

// TestShortDurations: a window with only a request or two decides nothing.
func TestShortDurations(t *testing.T) {
	redact.Forget()
	for duration, refused := range map[string]bool{"1ns": true, "999ms": true, "1s": false, "1500ms": false} {
		for _, pace := range []string{"", "rate = 5\n"} {
			res := Bytes("testdata/valid/plan.hcl",
				[]byte("plan \"p\" {}\nworkload \"w\" {\n"+lengths8+pace+"duration = \""+duration+"\"\n}\n"),
				planstest.Registry(), Options{})
			if res.OK() == refused || refused &&
				!strings.Contains(planstest.Text(&res.Findings), "must be at least 1s, not "+duration) {
				t.Errorf("%s %s: %s", duration, pace, planstest.Text(&res.Findings))
			}
		}
	}
}

//go:embed testdata/plans/suites.hcl
var suitePlan string

func TestSuitesDecideWhatIsSent(t *testing.T) {
	for suite, want := range map[string]string{
		"":      "listed [a], tier [a b], command []",
		"quick": "listed [b], tier [b], command []",
		"full":  "listed [a b], tier [a b], command []",
	} {
		// The third protocol would be for a command; nothing else is wrong.
		res := Bytes("plan.hcl", []byte(suitePlan), planstest.Registry(), Options{Suite: suite})
		var got []string
		for _, pr := range res.Plan.Protocols {
			got = append(got, fmt.Sprint(pr.Name, " ", res.Plan.SentWorkloads(pr.Level("benchmark"))))
		}
		if s := strings.Join(got, ", "); s != want || res.Plan.Suite != suite {
			t.Errorf("%q: got %s, want %s\n%s", suite, s, want, planstest.Text(&res.Findings))
		}
	}
	if got := (&plans.Plan{}).SentWorkloads(nil); got != nil {
		t.Errorf("%v: %v", "no benchmark sends", got)
	}
}

func TestUnknownSuites(t *testing.T) {
	for _, c := range []struct{ src, suite, want string }{
		{suitePlan, "quik", `The plan declares no suite "quik". Did you mean "quick"?`},
		{suitePlan, "nightly", `Available: "full", "quick".`},
		{"plan \"p\" {}\n", "quick", `It declares none; add: suite "quick" {`},
	} {
		res := Bytes("plan.hcl", []byte(c.src), planstest.Registry(), Options{Suite: c.suite})
		if res.OK() || !strings.Contains(res.Diagnostics.Error(), "Unknown suite in --suite") ||
			!strings.Contains(res.Diagnostics.Error(), c.want) || res.Plan.Suite != "" {
			t.Errorf("%s: %v", c.suite, res.Diagnostics)
		}
	}
}

// TestSuiteIsPartOfTheDigest: with other workloads the plan is different. The order of
// suites does not count, that of their workloads does.
func TestSuiteIsPartOfTheDigest(t *testing.T) {
	digest := func(src, suite string) string {
		return Bytes("plan.hcl", []byte(src), planstest.Registry(), Options{Suite: suite}).Plan.Digest()
	}
	none := digest(suitePlan, "")
	if none == digest(suitePlan, "quick") ||
		none == digest(strings.Replace(suitePlan, "[workload.a, workload.b]", "[workload.b, workload.a]", 1), "") {
		t.Error("what is sent does not count")
	}
	quick := "suite \"quick\" {\n  workloads = [workload.b]\n}\n"
	if none != digest(strings.Replace(suitePlan, quick, "", 1)+quick, "") {
		t.Error("the order of suites counts")
	}
}
