package mock

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// roleEnv turns this binary into the mock's program, or a parent of it that waits to be
// killed.
const roleEnv = "MXFLOW_TEST_MOCK"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "mock":
		if err := Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "parent":
		c, err := StartChild(context.Background(), []string{os.Args[0]}, roleEnv+"=mock")
		if err != nil {
			panic(err)
		}
		fmt.Println(c.URL)
		select {}
	}
	os.Exit(m.Run())
}

// program is the command of a mock, and its environment.
func program(t *testing.T, args ...string) (command, env []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self}, args...), []string{roleEnv + "=mock"}
}

// gone waits until the process behind a connection has closed it.
func gone(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the mock server still runs: %v", err)
	}
	conn.Close()
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestChildEnds(t *testing.T) {
	command, env := program(t)
	c, err := StartChild(t.Context(), command, env...)
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, c.URL)
	c.Stop()
	c.Stop()
	gone(t, conn)
}

// Killing the parent does not leave the child behind.
func TestChildEndsWithItsParent(t *testing.T) {
	command, _ := program(t)
	parent := exec.Command(command[0])
	parent.Env = append(os.Environ(), roleEnv+"=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, strings.TrimSpace(url))
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	gone(t, conn)
}

func TestChildThatCannot(t *testing.T) {
	command, env := program(t, "--ttft-us", "-5")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		command []string
		want    string
	}{
		"nothing":       {t.Context(), nil, "no command"},
		"not there":     {t.Context(), []string{"/nowhere/mxflow"}, "cannot start"},
		"a wrong flag":  {t.Context(), command, "mock.ttft_us is -5"},
		"another tool":  {t.Context(), []string{"echo", "hello"}, `printed "hello\n"`},
		"ends silently": {t.Context(), []string{"true"}, `printed ""`},
		"cancelled":     {cancelled, []string{"cat"}, "context canceled"},
	} {
		if _, err := StartChild(c.ctx, c.command, env...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	t.Setenv(childEnv, "1")
	if _, err := StartChild(t.Context(), command[:1], env...); err == nil || !strings.Contains(err.Error(), "cannot start another") {
		t.Errorf("the child of a child: %v", err)
	}
}

// decoded is an event as any client decodes it.
type decoded struct {
	ID      string
	Model   string
	Choices []struct {
		Text   string
		Delta  struct{ Role, Content string }
		Finish *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Total      int `json:"total_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

func decode(t *testing.T, data string) decoded {
	t.Helper()
	var d decoded
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return d
}
