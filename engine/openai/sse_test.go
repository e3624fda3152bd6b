package openai

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// parse feeds the pieces one after the other and shows what came out.
func parse(limit int, pieces ...[]byte) (events []string, err error) {
	p := newParser()
	p.limit = limit
	for _, piece := range pieces {
		p.push(piece)
		for p.next() {
			events = append(events, show(&p.ev))
		}
	}
	if p.finish() {
		events = append(events, show(&p.ev)+" at the end")
	}
	return events, p.err
}

// texts is the text of every event, <done> for the end marker.
func texts(t *testing.T, stream string) []string {
	t.Helper()
	p := newParser()
	var got []string
	collect := func() {
		switch {
		case p.ev.done:
			got = append(got, "<done>")
		case p.ev.failed:
			got = append(got, "<failed: "+string(p.ev.failure)+">")
		default:
			got = append(got, string(p.ev.text))
		}
	}
	p.push([]byte(stream))
	for p.next() {
		collect()
	}
	if p.err != nil {
		got = append(got, string(p.err.(*StreamError).Kind))
	} else if p.finish() {
		collect()
	}
	return got
}

func TestParser(t *testing.T) {
	a, b := `{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"two events", "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"CRLF", "data: " + a + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"a", "<done>"}},
		{"CR", "data: " + a + "\r\rdata: [DONE]\r\r", []string{"a", "<done>"}},
		{"mixed line ends", "data: " + a + "\n\r\ndata: " + b + "\r\n\rdata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"no space after the colon", "data:" + a + "\n\n", []string{"a"}},
		{"comments and other fields", ": ping\n\nevent: message\nid: 7\nretry: 10\n: more\ndata: " + a + "\nfoo\n\n", []string{"a"}},
		{"data in several lines", "data: {\"choices\":\ndata: [{\"text\":\ndata:\"a\"}]}\n\n", []string{"a"}},
		{"byte order mark", "\xef\xbb\xbfdata: " + a + "\n\n", []string{"a"}},
		{"half a byte order mark", "\xef\xbbdata: " + a + "\n\ndata: " + b + "\n\n", []string{"b"}},
		{"empty data is a sign of life", "data:\n\ndata: \n\ndata\n\ndata: " + a + "\n\n", []string{"a"}},
		{"last event without blank line", "data: " + a + "\n\ndata: [DONE]\n", []string{"a", "<done>"}},
		{"last event without line end", "data: " + a + "\n\ndata: [DONE]", []string{"a", "<done>"}},
		{"cut off in an event", "data: " + a + "\n\ndata: {\"choi", []string{"a"}},
		{"nothing after the end marker counts", "data: [DONE]\n\ndata: " + a + "\n\n", []string{"<done>"}},
		{"malformed", "data: " + a + "\n\ndata: {\"choices\":\n\ndata: " + b + "\n\n", []string{"a", string(Malformed)}},
		{"valid JSON but no object", "data: [1]\n\n", []string{string(Malformed)}},
		{"error object", `data: {"error":{"message":"out of memory","code":500}}` + "\n\n", []string{"<failed: out of memory>"}},
		{"error as text", `data: {"error":"busy"}` + "\n\n", []string{"<failed: busy>"}},
		{"error line", `error: {"code":500,"message":"slot"}` + "\n\n", []string{`<failed: {"code":500,"message":"slot"}>`}},
		{"error line that is no JSON", "error: it broke\n\n", []string{"<failed: it broke>"}},
		{"nothing", "", nil},
		{"blank lines", "\n\n\r\n\r\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := texts(t, tt.stream); !slices.Equal(got, tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			whole, wholeErr := parse(maxEvent, []byte(tt.stream))
			for cut := range len(tt.stream) + 1 {
				got, err := parse(maxEvent, []byte(tt.stream[:cut]), []byte(tt.stream[cut:]))
				if !slices.Equal(got, whole) || fmt.Sprint(err) != fmt.Sprint(wholeErr) {
					t.Fatalf("cut at %d: %q, %v; whole: %q, %v", cut, got, err, whole, wholeErr)
				}
			}
			single := make([][]byte, len(tt.stream))
			for i := range single {
				single[i] = []byte(tt.stream[i : i+1])
			}
			if got, err := parse(maxEvent, single...); !slices.Equal(got, whole) || fmt.Sprint(err) != fmt.Sprint(wholeErr) {
				t.Fatalf("byte by byte: %q, %v; whole: %q, %v", got, err, whole, wholeErr)
			}
		})
	}
}

func TestParserLimit(t *testing.T) {
	ok := "data: {\"choices\":[{\"text\":\"" + strings.Repeat("x", 100) + "\"}]}\n\n"
	for _, long := range []string{
		"data: \"" + strings.Repeat("x", 1000) + "\"\n\n",
		": " + strings.Repeat("comment", 200) + "\n",
		strings.Repeat("data: aaaaaaaaaaaaaa\n", 100) + "\n",
		strings.Repeat("x", 1000),
	} {
		events, err := parse(256, []byte(ok+long+ok))
		stream, _ := err.(*StreamError)
		if len(events) != 1 || stream == nil || stream.Kind != TooLarge {
			t.Errorf("%.20q…: %d events, %v", long, len(events), err)
		}
	}
}

func TestMalformedIsQuotedAndCut(t *testing.T) {
	_, err := parse(maxEvent, []byte("data: {\"a\":\x1b[31m"+strings.Repeat("é", 400)+"\n\n"))
	if err == nil {
		t.Fatal("no error")
	}
	said := err.Error()
	if !strings.Contains(said, `{\"a\":\x1b[31mé`) || !strings.Contains(said, "bytes)") || len(said) > 400 {
		t.Errorf("message %q", said)
	}
}

func TestParserAllocatesNothing(t *testing.T) {
	p := newParser()
	chunk := []byte(vllmEvent(1) + vllmEvent(2) + vllmEvent(7))
	half := len(chunk) / 2
	feed := func() {
		for _, piece := range [][]byte{chunk[:half], chunk[half:]} {
			p.push(piece)
			for p.next() {
			}
		}
	}
	feed()
	if got := testing.AllocsPerRun(100, feed); got != 0 || p.err != nil {
		t.Errorf("%v allocations, error %v", got, p.err)
	}
}

// FuzzParser holds that where the bytes are cut does not matter.
func FuzzParser(f *testing.F) {
	f.Add([]byte(vllmEvent(1)+vllmEvent(2)+"data: [DONE]\n\n"), uint16(7), uint16(300))
	f.Add([]byte("\xef\xbb\xbfdata: {\"error\":\"x\"}\r\n\r\n: c\r\rdata\n"), uint16(1), uint16(2))
	f.Add([]byte("data: {\ndata: }\n\nerror: x\n\ndata:[DONE]"), uint16(9), uint16(10))
	f.Fuzz(func(t *testing.T, stream []byte, one, two uint16) {
		i := int(one) % (len(stream) + 1)
		j := i + int(two)%(len(stream)-i+1)
		const limit = 600 // small, so that the limit is met too
		whole, wholeErr := parse(limit, stream)
		cut, cutErr := parse(limit, stream[:i], stream[i:j], nil, stream[j:])
		if !slices.Equal(whole, cut) || fmt.Sprint(wholeErr) != fmt.Sprint(cutErr) {
			t.Fatalf("whole: %q, %v\ncut at %d and %d: %q, %v", whole, wholeErr, i, j, cut, cutErr)
		}
	})
}
