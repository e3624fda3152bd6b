package docker_test

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
)

// playEnv turns the test binary into a program that does what its arguments say.
const playEnv = "MXFLOW_TEST_PLAY"

// rawBytes is output as engines write it: colours, a progress bar, and bytes that are not text.
const rawBytes = "\x1b[32mINFO\x1b[0m 10%\r100% \xff\xfe\x00 ü"

func TestMain(m *testing.M) {
	if os.Getenv(playEnv) != "" {
		os.Exit(play(os.Args[1:]))
	}
	enginetest.Main(m, dockertest.Remove)
}

// play carries out the words one after the other. Unknown words do nothing.
func play(words []string) int {
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM)
	next := func() (word string) {
		if len(words) > 0 {
			word, words = words[0], words[1:]
		}
		return word
	}
	for len(words) > 0 {
		switch next() {
		case "print":
			fmt.Println(next())
		case "complain":
			fmt.Fprintln(os.Stderr, next())
		case "bytes":
			fmt.Println(rawBytes)
			fmt.Fprintln(os.Stderr, "to stderr: "+rawBytes)
		case "env":
			for _, kv := range os.Environ() {
				fmt.Println(kv)
			}
		case "cat":
			text, err := os.ReadFile(next())
			fmt.Println(string(text), err)
		case "flood":
			n, _ := strconv.Atoi(next())
			for i := range n {
				fmt.Printf("line %d of a flood\n", i)
			}
		case "touch":
			f, err := os.Create(next())
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			f.Close()
		case "sleep-until":
			for path := next(); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(path); err == nil {
					break
				}
			}
		case "eat":
			var all [][]byte
			for {
				piece := make([]byte, 4<<20)
				for i := 0; i < len(piece); i += 4096 {
					piece[i] = 1
				}
				all = append(all, piece)
				runtime.KeepAlive(all)
			}
		case "sleep": // an hour, in case nobody ends it
			select {
			case <-ends:
				return 0
			case <-time.After(time.Hour):
			}
		case "exit":
			code, _ := strconv.Atoi(next())
			return code
		}
	}
	return 0
}
