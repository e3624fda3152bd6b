package foreign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/redact"
)

func TestLine(t *testing.T) {
	if got := Line("a\nb\tc\x1b[2J"); got != "a b c\ufffd[2J" {
		t.Errorf("%q", got)
	}
}

func TestQuote(t *testing.T) {
	if got := Quote("a\x1b\n"); got != `"a\x1b\n"` {
		t.Error(got)
	}
	if got := Quote([]byte(strings.Repeat("é", 400))); !strings.HasSuffix(got, `é"… (800 bytes)`) || len(got) > 220 {
		t.Error(got)
	}
}

func TestBuffers(t *testing.T) {
	redact.Know([]string{"0123456789"})
	defer redact.Forget()
	head, tail := Head{Limit: 4}, Tail{Limit: 9}
	for _, text := range []string{"ab", "cd", "0123456789", " end"} {
		fmt.Fprint(&head, text)
		fmt.Fprint(&tail, text)
	}
	if text, over := head.Bytes(); string(text) != "abcd" || !over {
		t.Errorf("%q, %v", text, over)
	}
	if got := tail.String(); got != redact.Mark+" end" && got != "end" {
		t.Errorf("%q", got)
	}
}
