package docker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/logscan"
)

// A daemon over TCP, as DOCKER_HOST names it, serves an engine from start to end.
func TestOverTCP(t *testing.T) {
	d := dockertest.Daemon(t)
	_, host := relayed(t, d)
	spec := boxed(enginetest.Fake(""), dockertest.Image(t, d, dockertest.Self(t)))
	t.Setenv("DOCKER_HOST", host)
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	if err := inst.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if about := inst.About()["docker"]; about != host {
		t.Errorf("the record says %s, want %s", about, host)
	}
}

// A context whose daemon requires a certificate, and presents one.
func TestOverTLS(t *testing.T) {
	d := dockertest.Daemon(t)
	socket, ok := strings.CutPrefix(d.Host(), "unix://")
	if !ok {
		t.Skipf("the daemon %s is not on a socket of this machine", d.Name)
	}
	folder := t.TempDir()
	t.Setenv("DOCKER_CONFIG", folder)
	sum := sha256.Sum256([]byte("secured"))
	id := hex.EncodeToString(sum[:])
	certs := filepath.Join(folder, "contexts", "tls", id, "docker")
	pair := certify(t, certs)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	})
	if err != nil {
		t.Fatal(err)
	}
	newRelay(t, l, socket)
	meta := fmt.Sprintf(`{"Name":"secured","Endpoints":{"docker":{"Host":"tcp://%s"}}}`, l.Addr())
	write(t, filepath.Join(folder, "contexts", "meta", id, "meta.json"), meta)

	there, err := docker.Connect(t.Context(), "", "secured")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.Info(t.Context()); err != nil {
		t.Error(err)
	}
	// The same daemon without certificates.
	_, err = docker.Connect(t.Context(), "tcp://"+l.Addr().String(), "")
	if err == nil || !strings.Contains(err.Error(), "DOCKER_TLS_VERIFY") {
		t.Errorf("without certificates: %v", err)
	}
	// A certificate that no authority signed.
	certify(t, filepath.Join(folder, "contexts", "tls", hashed("stranger"), "docker"))
	write(t, filepath.Join(folder, "contexts", "meta", hashed("stranger"), "meta.json"), strings.Replace(meta, "secured", "stranger", 1))
	_, err = docker.Connect(t.Context(), "", "stranger")
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with the wrong certificates: %v", err)
	}
}

func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certify writes a self-signed certificate into a folder, for both sides.
func certify(t *testing.T, folder string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "docker test " + rand.Text()}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	keyText := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
	write(t, filepath.Join(folder, "ca.pem"), cert)
	write(t, filepath.Join(folder, "cert.pem"), cert)
	write(t, filepath.Join(folder, "key.pem"), keyText)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// A daemon behind ssh: the ssh command here is a stand-in that does what ssh
// would on the other machine, which is this one.
func TestOverSSH(t *testing.T) {
	d := dockertest.Daemon(t)
	socket, ok := strings.CutPrefix(d.Host(), "unix://")
	if !ok {
		t.Skipf("the daemon %s is not on a socket of this machine", d.Name)
	}
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "ssh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv(sshSocketEnv, socket)
	spec := boxed(enginetest.Fake(""), dockertest.Image(t, d, dockertest.Self(t)))
	spec.Docker.Host = "ssh://me@gb10:2222"
	to := launchOf(t)
	inst := launched(t, docker.Launcher{}, spec, to)
	if err := inst.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	// A second fake engine finds no such port; its message about that came through ssh.
	if _, err := inst.Output(t.Context(), "/program", "no-port"); err == nil || !strings.Contains(err.Error(), "exit status 1 in the container: listen tcp") {
		t.Errorf("Output: %v", err)
	}
	if err := inst.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if tail := logscan.Tail(to.LogPath+".ssh", 1); len(tail) != 1 || !strings.Contains(tail[0], "forwarding") {
		t.Errorf("the tunnel's log is %q", tail)
	}

	t.Setenv(sshSocketEnv, "")
	_, err = docker.Connect(t.Context(), "ssh://other@gb10", "")
	if err == nil || !strings.Contains(err.Error(), "Permission denied (publickey)") {
		t.Errorf("refused by ssh: %v", err)
	}
}

// sshSocketEnv is the daemon's socket for the stand-in for ssh; if empty, it refuses.
const sshSocketEnv = "MXFLOW_TEST_SSH_SOCKET"

// asSSH reports whether the test binary was started as ssh.
func asSSH() bool { return filepath.Base(os.Args[0]) == "ssh" }

// ssh stands in for `ssh … HOST docker system dial-stdio` and `ssh -N -L LOCAL:REMOTE …
// HOST`.
func ssh(args []string) int {
	socket := os.Getenv(sshSocketEnv)
	if socket == "" {
		fmt.Fprintln(os.Stderr, "me@gb10: Permission denied (publickey).")
		return 255
	}
	if i := slices.Index(args, "-L"); i >= 0 {
		return forward(args[i+1])
	}
	if !strings.HasSuffix(strings.Join(args, " "), "docker system dial-stdio") {
		fmt.Fprintln(os.Stderr, "what is", args)
		return 1
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

func forward(way string) int {
	parts := strings.Split(way, ":")
	l, err := net.Listen("tcp", strings.Join(parts[:2], ":"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	fmt.Fprintln(os.Stderr, "forwarding", way)
	for {
		from, err := l.Accept()
		if err != nil {
			return 255
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("tcp", strings.Join(parts[2:], ":"))
			if err != nil {
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(to, from) }()
			_, _ = io.Copy(from, to)
		}()
	}
}
