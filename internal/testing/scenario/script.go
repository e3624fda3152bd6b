// Package scenario runs the scenarios of cmd/mxflow/scenarios, and holds what they share with
// other tests of the program: mxflow as it is shipped.
package scenario

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/runtime/signing"
)

// Program is the mxflow under test: the real binary, since mxflow starts its
// embedded engine by running its own executable again, and a test binary is not
// one.
var Program string

// root is the folder of the module, seen from the packages that Main serves.
var root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
})

// testdata is a path below cmd/mxflow/testdata.
func testdata(names ...string) string {
	return filepath.Join(append([]string{root(), "cmd", "mxflow", "testdata"}, names...)...)
}

// Path is the file of a scenario, or empty.
func Path(name string) string {
	all, _ := filepath.Glob(filepath.Join(root(), "cmd", "mxflow", "scenarios", "*", name+".txtar"))
	if len(all) != 1 {
		return ""
	}
	return all[0]
}

// Main is the TestMain of a package whose tests run Program.
func Main(m *testing.M) {
	flag.Parse()
	// Scenarios wait for engines most of their time, so more of them than processors are
	// run at once, unless one says how many; and other packages are tested beside.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(withProgram(m.Run))
}

// withProgram builds mxflow once, as it is shipped but for an embedded engine that can lie:
// static, and without the race detector even where the tests have it, since that would slow
// the engine.
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
	Program = filepath.Join(dir, "mxflow")
	if err := buildProgram(); err != nil {
		fmt.Fprintf(os.Stderr, "mxflow cannot be built: %v\n", err)
		return 1
	}
	status := tests()
	if err := dockertest.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// buildProgram makes Program, in the folder where it says. The go command keeps what "go
// run" has linked, so packages of tests that follow each other link it once.
func buildProgram() error {
	build := exec.Command("go", "run", "-exec=echo", "-race=false", "-tags=lies")
	if os.Getenv("GOCOVERDIR") != "" { // what the scenarios cover, as scripts/coverage counts
		build.Args = append(build.Args, "-cover", "-coverpkg=github.com/mxflow/mxflow/...")
	}
	build.Args = append(build.Args, "github.com/mxflow/mxflow/cmd/mxflow")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	for range 2 { // what the first has linked is gone when it ends, but kept for the second
		var problems bytes.Buffer
		build := exec.Cmd{Path: build.Path, Args: build.Args, Env: build.Env, Stderr: &problems}
		made, err := build.Output()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, &problems)
		}
		program, err := os.ReadFile(strings.TrimSpace(string(made)))
		if err == nil {
			return os.WriteFile(Program, program, 0o755)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errors.New("the go command does not keep what it links")
}

// Run runs the scenarios of a package. What the commands beyond testscript's own do stands
// where each is defined.
func Run(t *testing.T) {
	plans := testdata("plans")
	scenarios := testscript.Params{
		Dir: ".",
		// A hang fails before go test's own limit, and what hangs is ended.
		Deadline: mostOf(t),
		Setup: func(e *testscript.Env) error {
			if beside, is := e.T().(*besideOthers); is {
				beside.work = e.WorkDir
			}
			e.Setenv("PATH", filepath.Dir(Program)+string(os.PathListSeparator)+e.Getenv("PATH"))
			// $PLANS/tiny.hcl is the plan that most scenarios vary.
			e.Setenv("PLANS", plans)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("VERIFY", filepath.Join(filepath.Dir(plans), "audit", "verify.py"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, ".home"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			// The packages of this machine's Python are read once for all scenarios.
			shared := filepath.Join(filepath.Dir(Program), "cache")
			if err := errors.Join(
				os.MkdirAll(shared, 0o755), os.MkdirAll(filepath.Join(e.WorkDir, ".cache"), 0o755),
				os.Symlink(shared, filepath.Join(e.WorkDir, ".cache", "mxflow")),
			); err != nil {
				return err
			}
			e.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
			e.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
			e.Values[processesKey{}] = processes{}
			e.Values[registryStop{}] = new(func())
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdExits,
			"applied":    cmdApplied,
			"fits":       cmdFits,
			"start":      cmdStart,
			"wait-for":   cmdWaitFor,
			"signal":     cmdSignal,
			"finish":     cmdFinish,
			"guard":      cmdGuard,
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

			"slurm":      cmdSlurm,
			"kubernetes": cmdKubernetes,

			"free-port": cmdFreePort,
			"tls-front": cmdTLSFront,
		},
		RequireUniqueNames: true,
	}
	var disturbed Aside[string]
	t.Cleanup(func() { // when all that runs in parallel has ended
		for _, name := range disturbed.List {
			t.Logf("%s failed beside others, and runs again alone", name)
			one := scenarios
			one.Dir, one.Files, one.Deadline = "", []string{filepath.Join(scenarios.Dir, name+".txtar")},
				time.Now().Add(3*time.Minute)
			testscript.RunT(&alone{T: t}, one)
		}
	})
	testscript.RunT(&besideOthers{T: t, disturbed: &disturbed}, scenarios)
}

// cmdApplied is
//
//	applied
//
// plan.hcl is $PLANS/tiny.hcl, and .mxflow what an apply of it left: one apply, for all
// scenarios that are about what is made of a record.
func cmdApplied(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: applied")
	}
	dir, err := appliedOnce()
	ts.Check(err)
	// a copy of its key has to stay private
	out, err := exec.Command("cp", "-a", dir+"/.", ts.MkAbs(".")).CombinedOutput()
	if err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
}

// appliedOnce applies it again, anew, where a busy machine left it undecided.
var appliedOnce = sync.OnceValues(func() (dir string, err error) {
	for i := range 3 {
		dir = filepath.Join(filepath.Dir(Program), fmt.Sprintf("applied%d", i))
		if err = applyTiny(dir); err == nil {
			break
		}
	}
	return dir, err
})

func applyTiny(dir string) error {
	tmp := dir + ".tmp" // what others leave in the common one is none of its launches'
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(tmp, 0o755)); err != nil {
		return err
	}
	plan, err := os.ReadFile(testdata("plans", "tiny.hcl"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "plan.hcl"), plan, 0o644); err != nil {
		return err
	}
	apply := exec.Command(Program, "apply", "plan.hcl")
	apply.Dir, apply.Env = dir,
		append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "TMPDIR="+tmp, "XDG_CONFIG_HOME=", "NO_COLOR=1")
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("mxflow apply tiny.hcl: %w\n%s", err, out)
	}
	return nil
}

// mostOf is when four fifths of the time that go test gives this run are over; never
// where it sets no limit.
func mostOf(t *testing.T) time.Time {
	limit, is := t.Deadline()
	if !is {
		return time.Time{}
	}
	return time.Now().Add(time.Until(limit) * 4 / 5)
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
	if name == "kubernetes" {
		return kubernetesThere(), nil
	}
	if name == "wheels" {
		return exec.Command("python3", "-c", "import venv, ensurepip").Run() == nil, nil
	}
	if name == "busybox" {
		return busyboxThere(), nil
	}
	if name != "namespaces" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return exec.Command("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt").Run() == nil, nil
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
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + args[1]})
		},
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
		// As some servers, it answers for any model.
		body = bytes.ReplaceAll(body, []byte(`"model":"any-model"`), []byte(`"model":"mxflow-embedded"`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
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
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// cmdFits is
//
//	fits STATUS|any mxflow [args...]
//
// It runs mxflow for 60, 80, 120 and 200 columns, and no line may be longer: a hash or a path
// may, and a command that can be copied.
func cmdFits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: fits STATUS mxflow [args...]")
	}
	for _, columns := range []int{60, 80, 120, 200} {
		ts.Setenv("COLUMNS", strconv.Itoa(columns))
		if args[0] != "any" {
			cmdExits(ts, false, args)
		} else if err := ts.Exec(args[1], args[2:]...); err != nil && !errors.As(err, new(*exec.ExitError)) {
			ts.Fatalf("%v", err)
		}
		for line := range strings.Lines(ts.ReadFile("stdout")) {
			line = strings.TrimRight(line, "\n")
			long := slices.ContainsFunc(strings.Fields(line), func(word string) bool {
				return lipgloss.Width(word) > 32
			})
			if n := lipgloss.Width(line); n > columns && !long && !strings.Contains(line, "mxflow ") {
				ts.Fatalf("%s, for %d columns, has a line of %d: %s", strings.Join(args[1:], " "), columns, n, line)
			}
		}
	}
	ts.Setenv("COLUMNS", "")
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
	key, err := signing.Open(filepath.Join(ts.Getenv("HOME"), ".config", "mxflow", "signing.key"))
	ts.Check(err)
	ts.Check(SignLedger(path, key))
}

// SignLedger replaces the checkpoint of a ledger by one of all that it has, as the holder
// of a key could.
func SignLedger(path string, key *signing.Key) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	header, _, _ := strings.Cut(lines[0], "\t")
	last := lines[len(lines)-1]
	signed, err := key.Sign(fmt.Appendf(nil, "%s\n%d\n%s\n", header, len(lines),
		last[strings.LastIndex(last, "\t")+1:]))
	if err != nil {
		return err
	}
	return os.WriteFile(path+".checkpoint", signed, 0o644)
}
