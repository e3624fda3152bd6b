package enginetest

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"gopkg.in/yaml.v3"
)

// Recording is how a server of one kind behaves: how it becomes ready, what its
// pages and streams look like, what it logs, how it breaks. It was written down
// from the source and the logs of the version that Of names.
type Recording struct {
	Kind  string `yaml:"kind"`
	Of    string `yaml:"of"`
	Model string `yaml:"model"`
	// Starting is logged before the port is open, Loaded once the model is.
	Starting string `yaml:"starting"`
	Loaded   string `yaml:"loaded"`
	// Loading is what every page answers for its first Asks questions, whatever
	// they are.
	Loading *struct {
		Status int    `yaml:"status"`
		Body   string `yaml:"body"`
		Asks   int    `yaml:"asks"`
	} `yaml:"loading"`
	// Pages by method and path: "GET /health".
	Pages map[string]RecordedPage `yaml:"pages"`
	// Streams by path: "/v1/completions".
	Streams map[string]RecordedStream `yaml:"streams"`
	Crashes map[string]RecordedCrash  `yaml:"crashes"`
	Expect  RecordedExpect            `yaml:"expect"`
}

// RecordedPage is one page: the first answer that fits is given.
type RecordedPage struct {
	// Loads says that the model is loaded by this question.
	Loads   bool             `yaml:"loads"`
	Answers []RecordedAnswer `yaml:"answers"`
}

// RecordedAnswer is one answer of a page.
type RecordedAnswer struct {
	// Times is how often it is given; 0 is for ever. Loaded restricts it to
	// before or after the model was loaded.
	Times  int    `yaml:"times"`
	Loaded *bool  `yaml:"loaded"`
	Status int    `yaml:"status"`
	Body   string `yaml:"body"`
}

// RecordedStream is a streamed answer.
type RecordedStream struct {
	// Refuses maps members of a request that the server does not know to its
	// answer, which has status 422.
	Refuses map[string]string `yaml:"refuses"`
	Events  string            `yaml:"events"`
}

// RecordedCrash is one way to break: While "starting", or on the first "request".
type RecordedCrash struct {
	While  string `yaml:"while"`
	Log    string `yaml:"log"`
	Status int    `yaml:"status"`
	// Class and Line are what must be recognised: the class, and part of the line.
	Class string `yaml:"class"`
	Line  string `yaml:"line"`
}

// RecordedExpect is what must be made of it all.
type RecordedExpect struct {
	// ReadyAfter are the questions that must have been asked when it is ready,
	// and how often at least.
	ReadyAfter map[string]int `yaml:"ready_after"`
	// Observed by name, as their values print.
	Observed map[string]string `yaml:"observed"`
	Texts    map[string]string `yaml:"texts"`
	// Prompt, Output and Cached are token counts of both streams; -1 is unknown.
	Prompt int `yaml:"prompt"`
	Output int `yaml:"output"`
	Cached int `yaml:"cached"`
	// Tokens of the page that tokenizes; 0 where there is none.
	Tokens int `yaml:"tokens"`
}

//go:embed recorded/*.yaml
var recorded embed.FS

// Recordings are the names of all recordings: of a kind each.
func Recordings() (kinds []string) {
	files, err := recorded.ReadDir("recorded")
	if err != nil {
		panic(err) // they are part of the binary
	}
	for _, f := range files {
		kinds = append(kinds, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return kinds
}

// ReadRecording reads the recording of a kind. Members that it should not have
// are an error.
func ReadRecording(kind string) (Recording, error) {
	var r Recording
	text, err := recorded.ReadFile(path.Join("recorded", kind+".yaml"))
	if err != nil {
		return r, fmt.Errorf("there is no recording of kind %q", kind)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("the recording of kind %q: %w", kind, err)
	}
	return r, nil
}
