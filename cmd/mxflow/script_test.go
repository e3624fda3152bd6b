package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// program is the mxflow under test: the real binary, since mxflow starts its
// embedded engine by running its own executable again, and a test binary is not
// one.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m.Run))
}

// withProgram builds mxflow once, as it is shipped: static, and without the race
// detector even where the tests have it, since that would slow the engine.
func withProgram(tests func() int) int {
	dir, err := os.MkdirTemp("", "mxflow-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Keys that tests sign with are none of the person who runs them.
	if err := os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "mxflow")
	build := exec.Command("go", "build", "-race=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "mxflow cannot be built: %v\n%s", err, out)
		return 1
	}
	status := tests()
	if err := dockertest.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// TestScript runs the scenarios in testdata/script. What the commands beyond
// testscript's own do stands where each is defined.
func TestScript(t *testing.T) {
	plans, err := filepath.Abs(filepath.Join("testdata", "plans"))
	if err != nil {
		t.Fatal(err)
	}
	scenarios := testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		// Far more than all scenarios take: a hang fails well before go test's own
		// limit, and what hangs is ended.
		Deadline: time.Now().Add(8 * time.Minute),
		Setup: func(e *testscript.Env) error {
			if beside, is := e.T().(*besideOthers); is {
				beside.work = e.WorkDir
			}
			e.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+e.Getenv("PATH"))
			// $PLANS/tiny.hcl is the plan that most scenarios vary.
			e.Setenv("PLANS", plans)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("VERIFY", filepath.Join(filepath.Dir(plans), "audit", "verify.py"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, ".home"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
			e.Values[processesKey{}] = processes{}
			e.Values[registryStop{}] = new(func())
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdExits,
			"fits":       cmdFits,
			"start":      cmdStart,
			"wait-for":   cmdWaitFor,
			"signal":     cmdSignal,
			"finish":     cmdFinish,
			"guardian":   cmdGuardian,
			"no-engines": cmdNoEngines,
			"flip-byte":  cmdFlipByte,
			"cut-after":  cmdCutAfter,
			"json-count": cmdJSONCount,
			"json-lines": cmdJSONLines,

			"docker-image":    cmdDockerImage,
			"docker-count":    cmdDockerCount,
			"docker-wait":     cmdDockerWait,
			"docker-networks": cmdDockerNetworks,
			"docker-foreign":  cmdDockerForeign,

			"registry":      cmdRegistry,
			"registry-stop": cmdRegistryStop,
			"registry-push": cmdRegistryPush,

			"dev-container":     cmdDevContainer,
			"processes-in":      cmdProcessesIn,
			"wait-processes-in": cmdWaitProcessesIn,

			"slurm":    cmdSlurm,
			"overhead": cmdOverhead,

			"free-port": cmdFreePort,
			"tls-front": cmdTLSFront,
		},
		RequireUniqueNames: true,
	}
	var disturbed aside[string]
	t.Cleanup(func() { // when all that runs in parallel has ended
		for _, name := range disturbed.list {
			t.Logf("%s failed beside others, and runs again alone", name)
			one := scenarios
			one.Dir, one.Files, one.Deadline = "", []string{filepath.Join(scenarios.Dir, name+".txtar")}, time.Now().Add(3*time.Minute)
			testscript.RunT(&alone{T: t}, one)
		}
	})
	testscript.RunT(&besideOthers{T: t, disturbed: &disturbed}, scenarios)
}

// condition adds [namespaces]: this system lets the test mount file systems that
// nobody else sees; and [docker], see dockerThere.
func condition(name string) (bool, error) {
	if name == "long" {
		return os.Getenv("MXFLOW_TEST_LONG") != "", nil
	}
	if name == "docker" {
		return dockerThere(), nil
	}
	if name == "compose" {
		return composeThere(), nil
	}
	if name == "registry" {
		return registryThere(), nil
	}
	if name == "slurm" {
		return slurmThere(), nil
	}
	if name == "busybox" {
		return busyboxThere(), nil
	}
	if name != "namespaces" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return exec.Command("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt").Run() == nil, nil
}

// composeThere is the condition [compose]: there is a compose command beside a
// daemon. Where it is required, it is taken to be there.
func composeThere() bool {
	if enginetest.Required("compose") {
		return true
	}
	_, err := exec.LookPath("docker-compose")
	return dockerThere() && (err == nil || exec.Command("docker", "compose", "version").Run() == nil)
}

// busyboxThere is the condition [busybox]: images with a shell can be built.
func busyboxThere() bool {
	_, err := exec.LookPath("busybox")
	return enginetest.Required("docker") || err == nil
}

// cmdDevContainer is
//
//	dev-container VARIABLE
//
// It starts a container that does nothing, of an image with a shell and the mxflow
// under test in it, which all scenarios share. The container's name goes into
// VARIABLE, the image's into VARIABLE_IMAGE. The container goes away with the
// scenario.
func cmdDevContainer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dev-container VARIABLE")
	}
	d := daemonOf(ts)
	image, err := dockertest.DevOnce(d, program)
	ts.Check(err)
	name := "mxflow-test-" + strings.ToLower(rand.Text()[:10])
	made, err := d.ContainerCreate(context.Background(), &container.Config{Image: image}, nil, nil, nil, name)
	ts.Check(err)
	ts.Defer(func() {
		ts.Check(d.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}))
	})
	ts.Check(d.ContainerStart(context.Background(), made.ID, container.StartOptions{}))
	ts.Setenv(args[0], name)
	ts.Setenv(args[0]+"_IMAGE", image)
}

// cmdProcessesIn is
//
//	processes-in CONTAINER N REGEXP
//
// As many processes with a command line that matches run in a container.
func cmdProcessesIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: processes-in CONTAINER N REGEXP")
	}
	if found := processesIn(ts, args[0], args[2]); strconv.Itoa(len(found)) != args[1] {
		ts.Fatalf("in %s there run %d processes %s, want %s: %s", args[0], len(found), args[2], args[1], strings.Join(found, "; "))
	}
}

// cmdWaitProcessesIn waits until processes-in holds.
func cmdWaitProcessesIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: wait-processes-in CONTAINER N REGEXP")
	}
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if strconv.Itoa(len(processesIn(ts, args[0], args[2]))) == args[1] {
			return
		}
	}
	cmdProcessesIn(ts, neg, args)
}

// processesIn lists the command lines of a container's processes, zombies aside.
func processesIn(ts *testscript.TestScript, name, pattern string) []string {
	match, err := regexp.Compile(pattern)
	ts.Check(err)
	top, err := daemonOf(ts).ContainerTop(context.Background(), name, []string{"-eo", "pid,stat,args"})
	ts.Check(err)
	var found []string
	for _, p := range top.Processes {
		if line := strings.Join(p[2:], " "); !strings.HasPrefix(p[1], "Z") && match.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}

// cmdDockerNetworks is
//
//	docker-networks N LABEL[=VALUE]
//
// As many networks carry the label, in the words of docker-count.
func cmdDockerNetworks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: docker-networks N LABEL[=VALUE]")
	}
	found, err := daemonOf(ts).NetworkList(context.Background(),
		network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", withOwner(ts, args[1])))})
	ts.Check(err)
	if strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d networks carry %s, want %s: %+v", len(found), args[1], args[0], found)
	}
}

// dockerThere is the condition [docker]: a daemon answers. Where it is required,
// it is taken to be there, so that scenarios fail without it.
func dockerThere() bool {
	if enginetest.Required("docker") {
		return true
	}
	_, err := docker.Connect(context.Background(), "", "")
	return err == nil
}

func daemonOf(ts *testscript.TestScript) *docker.Daemon {
	d, err := docker.Connect(context.Background(), "", "")
	ts.Check(err)
	return d
}

// cmdDockerImage is
//
//	docker-image VARIABLE [LINE]
//
// It puts the name of an image FROM scratch whose only program is the mxflow
// under test, with one more line of its Dockerfile, into an environment variable.
// All scenarios share it.
func cmdDockerImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: docker-image VARIABLE [LINE]")
	}
	name, err := dockertest.Once(daemonOf(ts), program, args[1:]...)
	ts.Check(err)
	ts.Setenv(args[0], name)
}

// cmdDockerCount is
//
//	docker-count N LABEL[=VALUE]...
//
// As many containers carry all of these labels, running or not. The value
// owner(DIR) is the mark of a state directory.
func cmdDockerCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: docker-count N LABEL[=VALUE]...")
	}
	if found := labelled(ts, args[1:]); strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d containers carry %v, want %s: %+v", len(found), args[1:], args[0], found)
	}
}

// cmdDockerWait is
//
//	docker-wait LABEL[=VALUE]...
//
// It waits until a container with these labels runs.
func cmdDockerWait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: docker-wait LABEL[=VALUE]...")
	}
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		for _, c := range labelled(ts, args) {
			if c.State == container.StateRunning {
				return
			}
		}
	}
	ts.Fatalf("no container with %v ever ran", args)
}

func labelled(ts *testscript.TestScript, labels []string) []container.Summary {
	match := filters.NewArgs()
	for _, label := range labels {
		match.Add("label", withOwner(ts, label))
	}
	found, err := daemonOf(ts).ContainerList(context.Background(), container.ListOptions{All: true, Filters: match})
	ts.Check(err)
	return found
}

// withOwner replaces owner(DIR).
func withOwner(ts *testscript.TestScript, label string) string {
	before, dir, ok := strings.Cut(label, "owner(")
	if !ok {
		return label
	}
	return before + apply.Owner(ts.MkAbs(strings.TrimSuffix(dir, ")")))
}

// cmdDockerForeign is
//
//	docker-foreign IMAGE LABEL=VALUE...
//
// It makes a container with these labels, which somebody else might have made;
// it goes away with the scenario.
func cmdDockerForeign(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: docker-foreign IMAGE LABEL=VALUE...")
	}
	labels := map[string]string{}
	for _, label := range args[1:] {
		name, value, _ := strings.Cut(withOwner(ts, label), "=")
		labels[name] = value
	}
	d := daemonOf(ts)
	c, err := d.ContainerCreate(context.Background(), &container.Config{
		Image: args[0], Cmd: []string{"engine", "serve"}, Labels: labels,
	}, nil, nil, nil, "")
	ts.Check(err)
	ts.Defer(func() {
		_ = d.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
	})
	ts.Check(d.ContainerStart(context.Background(), c.ID, container.StartOptions{}))
}

// cmdFreePort is
//
//	free-port VARIABLE PIDFILE
//
// It sets a variable to a port on which nobody listens, for a server that the
// scenario starts by itself and whose process ID it writes to PIDFILE: that one
// is ended with the scenario.
func cmdFreePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: free-port VARIABLE PIDFILE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	ts.Check(l.Close())
	file := ts.MkAbs(args[1])
	ts.Defer(func() {
		text, err := os.ReadFile(file)
		if pid, convErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && convErr == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// cmdTLSFront is
//
//	tls-front VARIABLE PORT KEY
//
// It puts an HTTPS server in front of the one on PORT, which wants KEY as a
// bearer token, sets the variable to its URL and writes the certificate of its
// authority to ca.pem.
func cmdTLSFront(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: tls-front VARIABLE PORT KEY")
	}
	to := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + args[1]}) },
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+args[2] {
			http.Error(w, `{"error":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		// Read here and whole: a server ends a request's body with the first byte of
		// its answer, which may be before the proxy has seen the body's end, and then
		// it breaks the connection off.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		to.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = to.ErrorLog
	cert, ca := frontCertificate(ts)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	ts.Defer(s.Close)
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), ca, 0o600))
	ts.Setenv(args[0], "https://"+s.Listener.Addr().String())
}

// frontCertificate is a certificate for 127.0.0.1 that is its own authority.
func frontCertificate(ts *testscript.TestScript) (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// cmdJSONCount is
//
//	json-count N FILE[:PATH] [CONDITION...]
//
// N objects match all conditions. The objects are the lines of FILE (an event
// stream, or a ledger), or the elements of the list at PATH in the one JSON
// document that FILE holds; ":." is the document itself. N may be "some". A condition is
// path=text or path~regexp; what is absent is the empty text.
func cmdJSONCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json-count N FILE[:PATH] [CONDITION...]")
	}
	n := 0
	all := objects(ts, args[1])
	for _, object := range all {
		if matches(ts, object, args[2:]) {
			n++
		}
	}
	if want := args[0]; strconv.Itoa(n) != want && (want != "some" || n == 0) {
		var lines strings.Builder
		for _, object := range all {
			text, _ := json.Marshal(object)
			fmt.Fprintf(&lines, "%.300s\n", text)
		}
		ts.Fatalf("%d objects match, want %s, of:\n%s", n, want, &lines)
	}
}

// cmdJSONLines is
//
//	json-lines FILE
//
// Every line is a JSON object with a type.
func cmdJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json-lines FILE")
	}
	for i, object := range objects(ts, args[0]) {
		if lookup(object, "type") == "" {
			ts.Fatalf("line %d of %s has no type", i+1, args[0])
		}
	}
}

func objects(ts *testscript.TestScript, source string) []any {
	file, path, isList := strings.Cut(source, ":")
	text := ts.ReadFile(file)
	if isList {
		var document any
		ts.Check(json.Unmarshal([]byte(text), &document))
		if path == "." {
			return []any{document}
		}
		list, ok := find(document, path).([]any)
		if !ok {
			ts.Fatalf("there is no list %s in %s", path, text)
		}
		return list
	}
	var list []any
	for line := range strings.Lines(text) {
		// A line of the ledger goes on with a TAB and a hash; its first is a header.
		line, _, isLeaf := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if isLeaf && !strings.HasPrefix(line, "{") {
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%v in the line %q", err, line)
		}
		list = append(list, object)
	}
	return list
}

func matches(ts *testscript.TestScript, object any, conditions []string) bool {
	for _, c := range conditions {
		at := strings.IndexAny(c, "=~")
		if at < 0 {
			ts.Fatalf("%q is not a condition", c)
		}
		got := lookup(object, c[:at])
		if c[at] == '=' && got != c[at+1:] {
			return false
		}
		if c[at] == '~' && !regexp.MustCompile(c[at+1:]).MatchString(got) {
			return false
		}
	}
	return true
}

// lookup is the value at a path as text, empty where there is none.
func lookup(object any, path string) string {
	if v := find(object, path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

func find(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// patience is how long anything that must happen may take before a scenario
// fails. It is no measure of speed: passing scenarios never wait so long.
const patience = 60 * time.Second

// cmdExits is
//
//	exits STATUS program [args...]
//
// exec for a program whose exit status matters, not only that it failed.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := endOf(exit); got != args[0] {
		ts.Fatalf("%s ended with %s, want %s", args[1], got, args[0])
	}
}

// cmdFits is
//
//	fits STATUS|any mxflow [args...]
//
// It runs mxflow for 80, 120 and 200 columns, and no line may be longer: a hash or a path
// may, and a command that can be copied.
func cmdFits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: fits STATUS mxflow [args...]")
	}
	for _, columns := range []int{80, 120, 200} {
		ts.Setenv("COLUMNS", strconv.Itoa(columns))
		if args[0] != "any" {
			cmdExits(ts, false, args)
		} else if err := ts.Exec(args[1], args[2:]...); err != nil && !errors.As(err, new(*exec.ExitError)) {
			ts.Fatalf("%v", err)
		}
		for line := range strings.Lines(ts.ReadFile("stdout")) {
			line = strings.TrimRight(line, "\n")
			long := slices.ContainsFunc(strings.Fields(line), func(word string) bool { return lipgloss.Width(word) > 32 })
			if n := lipgloss.Width(line); n > columns && !long && !strings.Contains(line, "mxflow ") {
				ts.Fatalf("%s, for %d columns, has a line of %d: %s", strings.Join(args[1:], " "), columns, n, line)
			}
		}
	}
	ts.Setenv("COLUMNS", "")
}

// endOf is an exit status, or the name of the signal that ended a process.
func endOf(exit *exec.ExitError) string {
	if exit == nil {
		return "0"
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return strconv.Itoa(exit.ExitCode())
}

// processes are those a scenario has started in the background, by name.
type (
	processes    map[string]*background
	processesKey struct{}
)

type background struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid once done is closed
	// guardians are those that guardian has met.
	guardians []int
}

// cmdStart is
//
//	start NAME program [args...]
//
// It runs a program in the background with its output in NAME.out and NAME.err,
// where it can be read while the program goes on.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME program [args...]")
	}
	path := args[1]
	if path == "mxflow" {
		path = program
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR", "PLANS", "NO_COLOR", "MXFLOW_EMBEDDED_FAULT", "DOCKER_HOST"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	b := &background{cmd: cmd, done: make(chan struct{})}
	go func() {
		b.err = cmd.Wait()
		close(b.done)
	}()
	ts.Value(processesKey{}).(processes)[args[0]] = b
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-b.done
	})
}

func started(ts *testscript.TestScript, name string) *background {
	b := ts.Value(processesKey{}).(processes)[name]
	if b == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return b
}

// cmdSignal is
//
//	signal NAME INT|KILL|HUP|TERM|STOP
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || unix.SignalNum("SIG"+args[1]) == 0 {
		ts.Fatalf("usage: signal NAME INT|KILL|HUP|TERM|STOP")
	}
	ts.Check(started(ts, args[0]).cmd.Process.Signal(unix.SignalNum("SIG" + args[1])))
}

// cmdGuardian is
//
//	guardian NAME [SIGNAL]
//	guardian NAME gone
//
// It waits until what start started has a guardian that was not asked for before, and
// sends it a signal; or until none of those that were asked for is left.
func cmdGuardian(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 || len(args) == 2 && args[1] != "gone" && unix.SignalNum("SIG"+args[1]) == 0 {
		ts.Fatalf("usage: guardian NAME [SIGNAL|gone]")
	}
	b := started(ts, args[0])
	gone := args[len(args)-1] == "gone"
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		var there []int
		for _, pid := range guardians() {
			// One of an mxflow that has ended has another parent.
			if slices.Contains(b.guardians, pid) == gone && (gone || parentOf(pid) == b.cmd.Process.Pid) {
				there = append(there, pid)
			}
		}
		switch {
		case gone && len(there) == 0:
			return
		case !gone && len(there) > 0:
			b.guardians = append(b.guardians, there...)
			if len(args) == 2 {
				ts.Check(unix.Kill(there[0], unix.SignalNum("SIG"+args[1])))
			}
			return
		}
	}
	ts.Fatalf("of guardian %s: %v, and what came of it was not so within %s", args, b.guardians, patience)
}

// guardians are the guardian processes of all that run mxflow on this machine, once
// they are at work.
func guardians() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range files {
		name, _ := os.ReadFile(file)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // empty for one that has ended
		if string(name) == "mx-guard\n" && len(line) > 0 {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

// cmdFinish is
//
//	finish NAME STATUS
//
// It waits for the end of what start started. STATUS is an exit status, or the
// signal that ended it, such as SIGKILL.
func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: finish NAME STATUS")
	}
	b := started(ts, args[0])
	select {
	case <-b.done:
	case <-time.After(patience):
		ts.Fatalf("%s has not ended", args[0])
	}
	var exit *exec.ExitError
	if b.err != nil && !errors.As(b.err, &exit) {
		ts.Fatalf("%v", b.err)
	}
	if got := endOf(exit); got != args[1] {
		ts.Fatalf("%s ended with %s, want %s\n%s%s", args[0], got, args[1],
			ts.ReadFile(args[0]+".out"), ts.ReadFile(args[0]+".err"))
	}
}

// cmdWaitFor is
//
//	wait-for FILE REGEXP
//
// It waits until a file, which need not exist yet, has a line that matches.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-for FILE REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var text []byte
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if text, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && pattern.Match(text) {
			return
		}
	}
	ts.Fatalf("%s never had %q, but only:\n%s", filepath.Base(args[0]), args[1], bytes.TrimSpace(text))
}

// registryThere is the condition [registry]: there is a registry to start, and a
// daemon on this machine to use it. Where it is required, it is taken to be there.
func registryThere() bool {
	if enginetest.Required("registry") {
		return true
	}
	d, err := docker.Connect(context.Background(), "", "")
	if err != nil || !d.Local() {
		return false
	}
	_, err = exec.LookPath(dockertest.RegistryProgram)
	return err == nil
}

// registryStop is how the registry of a scenario is stopped.
type registryStop struct{}

// cmdRegistry is
//
//	registry VARIABLE
//
// It starts a registry for the scenario, and puts its address into a variable.
func cmdRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry VARIABLE")
	}
	address, stop, err := dockertest.Registry(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Defer(stop)
	ts.Defer(func() { ts.Check(dockertest.ForgetAll(daemonOf(ts), address)) })
	ts.Setenv(args[0], address)
	*ts.Value(registryStop{}).(*func()) = stop
}

// cmdRegistryStop is registry-stop: nobody answers at its address any more.
func cmdRegistryStop(ts *testscript.TestScript, neg bool, args []string) {
	(*ts.Value(registryStop{}).(*func()))()
}

// cmdRegistryPush is
//
//	registry-push IMAGE NAME
//
// It gives an image to the registry under a name. On the daemon the name
// stands for what it did before.
func cmdRegistryPush(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: registry-push IMAGE NAME")
	}
	ts.Check(dockertest.Push(context.Background(), daemonOf(ts), args[0], args[1]))
}

// cmdNoEngines is
//
//	no-engines STATE-DIR
//
// Nothing that was started on behalf of the state directory runs any more. The
// kernel may need a moment to end the child of a killed parent, so this polls. A
// child that its parent's end met between fork and exec has no mark yet; it is known
// by the lock of the state directory, which it holds until then.
func cmdNoEngines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: no-engines STATE-DIR")
	}
	mark := []byte("MXFLOW_OWNER=" + apply.Owner(ts.MkAbs(args[0])))
	var left []string
	for limit := time.Now().Add(patience / 6); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		held, by, err := store.AtWork(ts.MkAbs(args[0]))
		ts.Check(err)
		if left = marked(mark); held {
			left = append(left, fmt.Sprintf("who holds the lock: %+v", by))
		}
		if len(left) == 0 {
			return
		}
	}
	ts.Fatalf("still running: %s", strings.Join(left, "; "))
}

// marked lists the processes with an entry in their environment.
func marked(entry []byte) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		// A process that ends meanwhile, or of another user, cannot be read.
		environ, _ := os.ReadFile(file)
		for _, kv := range bytes.Split(environ, []byte{0}) {
			if bytes.Equal(kv, entry) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				list = append(list, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
	}
	return list
}

// cmdFlipByte is
//
//	flip-byte FILE TEXT
//
// It changes the lowest bit of the first byte of TEXT's first place in a file,
// as bad storage or a forger would.
func cmdFlipByte(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip-byte FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.Index(data, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	data[at] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
}

// cmdCutAfter ends a ledger with its last line that holds a text, as a crash
// right after it would have.
func cmdCutAfter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut-after LEDGER TEXT")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at := bytes.LastIndex(data, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	end := at + bytes.IndexByte(data[at:], '\n') + 1
	ts.Check(os.WriteFile(path, data[:end], 0o644))
	// A crash would have left an older checkpoint, signed as this one is.
	ts.Check(os.Remove(path + ".checkpoint"))
	ts.Check(ts.Exec("mxflow", "audit", "sign", "--state", filepath.Dir(path)))
}
