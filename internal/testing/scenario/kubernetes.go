package scenario

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/internal/testing/enginetest"
)

// kubernetesThere is the condition [kubernetes]: root can start a cluster of its own of
// programs that are on the PATH. Where it is required, it is taken to be there.
func kubernetesThere() bool {
	if enginetest.Required("kubernetes") {
		return true
	}
	for _, program := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
		"kubectl", "containerd", "ctr", "runc", "gcc",
	} {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return os.Getuid() == 0
}

// cniPlugins is where Debian has the plugins of networks of pods.
const cniPlugins = "/usr/lib/cni"

// cmdKubernetes is kubernetes. It starts a cluster on this machine for the rest of the
// scenario: etcd, the programs of Kubernetes, and one node, localhost, with containerd and
// two devices example.com/gpu that are none. job.yaml is a Job of one of them whose pod
// sees this machine's programs and the scenario's folder; containers of no other image
// can be started.
func cmdKubernetes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: kubernetes")
	}
	dir, err := os.MkdirTemp("", "mxkube")
	ts.Check(err)
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { ts.Check(os.WriteFile(at(name), []byte(text), 0o600)) }

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	private, err := x509.MarshalECPrivateKey(key)
	ts.Check(err)
	write("accounts.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	token := rand.Text()
	write("tokens.csv", token+",admin,admin,system:masters\n")
	api, etcd, kubelet := freePort(ts), freePort(ts), freePort(ts)
	write("config", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: mxflow, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s}}]
contexts: [{name: mxflow, context: {cluster: mxflow, user: admin}}]
current-context: mxflow
`, api, token))
	ts.Setenv("KUBECONFIG", at("config"))
	write("kubelet.yaml", fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %d
readOnlyPort: 0
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupsPerQOS: false
enforceNodeAllocatable: []
cgroupDriver: cgroupfs
failSwapOn: false
evictionHard: {memory.available: "0%%"}
imageGCHighThresholdPercent: 100
containerRuntimeEndpoint: unix://%s/containerd.sock
podLogsDir: %[2]s/pod-logs
`, kubelet, dir))
	// Pods have addresses, which nobody reaches: only the kubelet asks for a network.
	ts.Check(os.Mkdir(at("net.d"), 0o755))
	write("net.d/1.conflist",
		fmt.Sprintf(
			`{"cniVersion": "0.4.0", "name": "mxflow", "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "subnet": "10.213.0.0/24", "dataDir": "%s/addresses"}}]}`, dir))
	write("containerd.toml", fmt.Sprintf(`version = 2
root = "%[1]s/containers"
state = "%[1]s/running"
[grpc]
  address = "%[1]s/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "mxflow.test/here:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[2]s"
    conf_dir = "%[1]s/net.d"
`, dir, cniPlugins))
	image(ts, at("image.tar"), at("wait"))

	var daemons []*exec.Cmd
	daemon := func(argv ...string) {
		log, err := os.Create(at(filepath.Base(argv[0]) + ".log"))
		ts.Check(err)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = log, log
		ts.Check(cmd.Start())
		_ = log.Close()
		daemons = append(daemons, cmd)
	}
	ask := func(argv ...string) (string, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+at("config"))
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	until := func(what string, good func(string) bool, argv ...string) {
		said := ""
		for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
			var err error
			if said, err = ask(argv...); err == nil && good(said) {
				return
			}
		}
		logs, _ := exec.Command("sh", "-c", "tail -n 20 "+dir+"/*.log").CombinedOutput()
		ts.Fatalf("%s: %s\n%s", what, said, logs)
	}
	always := func(string) bool { return true }
	ts.Defer(func() {
		// Pods end first, as nothing else would end them.
		_, _ = ask("kubectl", "delete", "jobs,pods", "--all", "--wait=false", "--grace-period=1")
		for limit := time.Now().Add(patience / 6); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
			if left, err := ask("kubectl", "get", "pods", "--output=name"); err != nil || left == "" {
				break
			}
		}
		for i := len(daemons) - 1; i >= 0; i-- {
			_ = daemons[i].Process.Kill()
			_ = daemons[i].Wait()
		}
		// What containerd started names its folder.
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), at("")) &&
				pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		mounts, _ := os.ReadFile("/proc/mounts")
		for line := range strings.Lines(string(mounts)) {
			if on := strings.Fields(line)[1]; strings.HasPrefix(on, at("")+"/") {
				_ = exec.Command("umount", "-l", on).Run()
			}
		}
		_ = os.RemoveAll(dir)
	})

	local := "http://127.0.0.1:" + strconv.Itoa(etcd)
	daemon("etcd", "--data-dir="+at("etcd"), "--listen-client-urls="+local, "--advertise-client-urls="+local,
		"--listen-peer-urls=http://127.0.0.1:"+strconv.Itoa(freePort(ts)), "--unsafe-no-fsync")
	daemon("containerd", "--config="+at("containerd.toml"))
	daemon("kube-apiserver", "--etcd-servers="+local, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(api),
		"--cert-dir="+at("certificates"), "--token-auth-file="+at("tokens.csv"),
		"--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount",
		"--service-account-issuer=https://mxflow.test", "--service-account-key-file="+at("accounts.key"),
		"--service-account-signing-key-file="+at("accounts.key"), "--service-cluster-ip-range=10.214.0.0/24",
		"--kubelet-preferred-address-types=Hostname", "--endpoint-reconciler-type=none")
	until("containerd does not answer", always, "ctr", "--address="+at("containerd.sock"), "--namespace=k8s.io",
		"images", "import", at("image.tar"))
	until("the API does not answer", always, "kubectl", "get", "--raw", "/readyz")
	daemon("kube-controller-manager", "--kubeconfig="+at("config"), "--leader-elect=false", "--secure-port=0")
	daemon("kube-scheduler", "--kubeconfig="+at("config"), "--leader-elect=false", "--secure-port=0")
	daemon("kubelet", "--config="+at("kubelet.yaml"), "--kubeconfig="+at("config"), "--root-dir="+at("kubelet"),
		"--cert-dir="+at("kubelet-certificates"), "--hostname-override=localhost")
	until("the node is not there", always, "kubectl", "get", "node", "localhost")
	until("the node takes no devices", always, "kubectl", "patch", "node", "localhost", "--subresource=status",
		"--patch", `{"status": {"capacity": {"example.com/gpu": "2"}, "allocatable": {"example.com/gpu": "2"}}}`)
	until("the node does not come up", func(said string) bool {
		return strings.Contains(said, "True 2")
	}, "kubectl", "get", "node", "localhost",
		`--output=jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.allocatable.example\.com/gpu}`)

	work := ts.Getenv("WORK")
	program, _, _ := strings.Cut(ts.Getenv("PATH"), ":")
	ts.Check(os.WriteFile(ts.MkAbs("job.yaml"), []byte(fmt.Sprintf(`apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      enableServiceLinks: false
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 10
      containers:
      - name: engine
        image: mxflow.test/here:1
        env:
        - {name: PATH, value: "%[1]s:/usr/bin:/usr/sbin"}
        resources: {limits: {example.com/gpu: 1}}
        volumeMounts:
        - {name: usr, mountPath: /usr, readOnly: true}
        - {name: program, mountPath: %[1]s, readOnly: true}
        - {name: work, mountPath: %[2]s}
      volumes:
      - {name: usr, hostPath: {path: /usr}}
      - {name: program, hostPath: {path: %[1]s}}
      - {name: work, hostPath: {path: %[2]s}}
`, program, work)), 0o644))
}

// image writes an image with a program that waits, for what holds a pod's namespaces, and
// with the names that this machine's programs need below /usr.
func image(ts *testscript.TestScript, path, program string) {
	cmd := exec.Command("gcc", "-static", "-Os", "-o", program, "-x", "c", "-")
	cmd.Stdin = strings.NewReader("#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic void " +
		"end(int s) { _exit(0); }\nint main() { signal(SIGTERM, end); signal(SIGINT, end); for (;;) pause(); }\n")
	said, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("%s: %v", said, err)
	}
	waits, err := os.ReadFile(program)
	ts.Check(err)

	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, h := range []tar.Header{
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "usr/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
		{Name: "lib", Typeflag: tar.TypeSymlink, Linkname: "usr/lib"},
		{Name: "lib64", Typeflag: tar.TypeSymlink, Linkname: "usr/lib64"},
		{Name: "wait", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(waits))},
	} {
		ts.Check(w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write(waits)
			ts.Check(err)
		}
	}
	ts.Check(w.Close())
	sum := sha256.Sum256(layer.Bytes())
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": runtime.GOOS, "config": map[string]any{"Entrypoint": []string{"/wait"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	ts.Check(err)

	f, err := os.Create(path)
	ts.Check(err)
	defer f.Close()
	w = tar.NewWriter(f)
	for _, part := range []struct {
		name string
		text io.Reader
		size int
	}{
		{"layer.tar", &layer, layer.Len()},
		{"config.json", bytes.NewReader(config), len(config)},
		{"manifest.json", strings.NewReader(saved), len(saved)},
	} {
		ts.Check(
			w.WriteHeader(&tar.Header{Name: part.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(part.size)}))
		_, err := io.Copy(w, part.text)
		ts.Check(err)
	}
	ts.Check(w.Close())
}

// saved lists an image as docker save does.
const saved = `[{"Config": "config.json", "RepoTags": ["mxflow.test/here:1"], "Layers": ["layer.tar"]}]`
