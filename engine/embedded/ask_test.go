package embedded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// testServer serves a loaded model; its log can be read after the test's
// requests are done.
func testServer(t testing.TB, change func(*Config)) (url string, log *bytes.Buffer) {
	t.Helper()
	config := testConfig()
	if change != nil {
		change(&config)
	}
	log = &bytes.Buffer{}
	s := newServer(config, &lineLog{out: log})
	if err := s.load(func(int) {}); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	t.Cleanup(web.Close)
	return web.URL, log
}

func post(t testing.TB, url, body string) (status int, answer string) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

func get(t testing.TB, url string) (status int, answer string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(raw)
}

// event is a response as a client sees it.
type event struct {
	ID, Object, Model string
	Choices           []struct {
		Text           *string
		Message, Delta *struct {
			Role      string
			Reasoning *string `json:"reasoning_content"`
			Content   *string
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails *struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
}

// streamEvents posts and parses the events; done tells whether [DONE] came.
func streamEvents(t testing.TB, url, body string) (events []event, done bool) {
	t.Helper()
	status, answer := post(t, url, body)
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, answer)
	}
	lines := bufio.NewScanner(strings.NewReader(answer))
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case lines.Text() == "":
		case !isData:
			t.Fatalf("a line is no data: %q", lines.Text())
		case data == "[DONE]":
			done = true
		default:
			var e event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			events = append(events, e)
		}
	}
	return events, done
}

func whole(t testing.TB, url, body string) event {
	t.Helper()
	status, answer := post(t, url, body)
	var e event
	if err := json.Unmarshal([]byte(answer), &e); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, answer)
	}
	return e
}

// textOf is the text of a whole answer, for goroutines that may not end a test.
func textOf(answer string) string {
	var e event
	if json.Unmarshal([]byte(answer), &e) != nil || len(e.Choices) != 1 || e.Choices[0].Text == nil {
		return "no text in " + answer
	}
	return *e.Choices[0].Text
}
