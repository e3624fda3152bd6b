package plans

import (
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func digestOf(t *testing.T, src []byte) string {
	t.Helper()
	res := LoadBytes("testdata/valid/other_name.hcl", src, testRegistry(), Options{})
	if !res.OK() {
		t.Fatalf("%s\n%s", res.text(), src)
	}
	return res.Plan.Digest()
}

// TestDigestIgnoresFormatting changes layout, comments and the order of blocks
// at random, and expects the same digest.
func TestDigestIgnoresFormatting(t *testing.T) {
	paths, _ := filepath.Glob("testdata/valid/*.hcl")
	random := rand.New(rand.NewSource(1))
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := digestOf(t, src)
		if len(want) != 64 {
			t.Fatalf("digest %q", want)
		}
		for range 20 {
			variant := respaced(src, random)
			variant = shuffled(t, variant, random)
			if got := digestOf(t, variant); got != want {
				t.Fatalf("%s: digest changed with\n%s", path, variant)
			}
		}
	}
}

// respaced writes the tokens of a plan with other spaces between them, and other
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
	src, err := os.ReadFile("testdata/valid/mxfp4.hcl")
	if err != nil {
		t.Fatal(err)
	}
	base := digestOf(t, src)
	with := func(decision string) string { return digestOf(t, append([]byte(decision+"\n"), src...)) }
	for _, same := range []string{"decision {}", "decision {\n false_pass = 0.01\n launches = { max = 8, min = 3 }\n}", "decision {\n launches = {}\n interactions = false\n}"} {
		if with(same) != base {
			t.Errorf("%s changes the digest, and says what holds without it", same)
		}
	}
	for _, other := range []string{"false_pass = 0.02", "false_fail = 0.1", "launches = { min = 4 }", "launches = { max = 12 }", "interactions = true"} {
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
