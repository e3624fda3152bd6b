package scenario

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/internal/testing/enginetest"
)

// slurmThere is the condition [slurm]: root can start a cluster of its own. Where it is
// required, it is taken to be there.
func slurmThere() bool {
	if enginetest.Required("slurm") {
		return true
	}
	for _, program := range []string{"slurmctld", "slurmd", "munged", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return os.Getuid() == 0
}

// cmdSlurm is slurm. It starts a cluster of two nodes on this machine, each with a GPU that
// is none, for the rest of the scenario. SLURMD_node1 and SLURMD_node2 are the processes of
// their slurmd. Whoever asks for partition urgent gets the nodes of others.
func cmdSlurm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: slurm")
	}
	dir, err := os.MkdirTemp("", "mxslurm")
	ts.Check(err)
	ts.Check(os.Chmod(dir, 0o755)) // munge looks at who may write
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"state", "node1", "node2"} {
		ts.Check(os.Mkdir(at(name), 0o755))
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	ts.Check(os.WriteFile(at("munge.key"), key, 0o600))
	ts.Check(unix.Mknod(at("gpu"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	host, err := os.Hostname()
	ts.Check(err)
	host, _, _ = strings.Cut(host, ".")
	conf := fmt.Sprintf(`ClusterName=mxflow
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.sock,cred_expire=10
CredType=cred/munge
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/%%n
SlurmctldPidFile=%[2]s/ctld.pid
SlurmdPidFile=%[2]s/%%n.pid
SlurmctldLogFile=%[2]s/ctld.log
SlurmdLogFile=%[2]s/%%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
GresTypes=gpu
KillWait=2
ReturnToService=2
NodeName=node1 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[4]d CPUs=4 Gres=gpu:1 State=UNKNOWN
NodeName=node2 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[5]d CPUs=4 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=node1,node2 Default=YES PriorityTier=1 State=UP
PartitionName=urgent Nodes=node1,node2 PriorityTier=9 State=UP
`, host, dir, freePort(ts), freePort(ts), freePort(ts))
	ts.Check(os.WriteFile(at("slurm.conf"), []byte(conf), 0o644))
	ts.Check(os.WriteFile(at("gres.conf"), []byte("Name=gpu File="+at("gpu")+"\n"), 0o644))
	ts.Setenv("SLURM_CONF", at("slurm.conf"))

	var daemons []*exec.Cmd
	daemon := func(argv ...string) *exec.Cmd {
		log, err := os.Create(at(strconv.Itoa(len(daemons)) + ".txt"))
		ts.Check(err)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "SLURM_CONF="+at("slurm.conf")), log, log
		ts.Check(cmd.Start())
		_ = log.Close()
		daemons = append(daemons, cmd)
		return cmd
	}
	ask := func(argv ...string) string {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+at("slurm.conf"))
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	until := func(what string, argv []string, good func(string) bool) {
		said := ""
		for limit := time.Now().Add(patience / 2); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
			if said = ask(argv...); good(said) {
				return
			}
		}
		logs, _ := exec.Command("sh", "-c", "tail -n 20 "+dir+"/*.log "+dir+"/*.txt").CombinedOutput()
		ts.Fatalf("%s: %s\n%s", what, said, logs)
	}
	ts.Defer(func() {
		ask("scancel", "--user=root")
		for limit := time.Now().Add(patience / 6); time.Now().Before(limit) &&
			strings.TrimSpace(ask("squeue", "--noheader")) != ""; time.Sleep(50 * time.Millisecond) {
		}
		for i := len(daemons) - 1; i >= 0; i-- {
			_ = daemons[i].Process.Kill()
			_ = daemons[i].Wait()
		}
		// A slurmstepd whose slurmd was killed waits for it.
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environments {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if text, err := os.ReadFile(path); err == nil &&
				strings.Contains(string(text), "SLURM_CONF="+at("slurm.conf")) && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		_ = os.RemoveAll(dir)
	})
	daemon("munged", "--foreground", "--force", "--key-file="+at("munge.key"), "--socket="+at("munge.sock"),
		"--pid-file="+at("munge.pid"), "--log-file="+at("munge.log"), "--seed-file="+at("munge.seed"))
	until("munge does not answer", []string{"munge", "--no-input", "--socket=" + at("munge.sock")},
		func(s string) bool { return strings.HasPrefix(s, "MUNGE:") })
	daemon("slurmctld", "-D")
	until("slurmctld does not answer", []string{"scontrol", "ping"}, func(s string) bool {
		return strings.Contains(s, "is UP")
	})
	for _, node := range []string{"node1", "node2"} {
		ts.Setenv("SLURMD_"+node, strconv.Itoa(daemon("slurmd", "-D", "-N", node).Process.Pid))
	}
	until("nodes do not come up", []string{"sinfo", "--noheader", "--partition=all", "--format=%t %D"},
		func(s string) bool { return strings.TrimSpace(s) == "idle 2" })
}

// freePort is a port that nobody listens on.
func freePort(ts *testscript.TestScript) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
