package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A daemon of this program outlives its engine: it has its own session, an empty
// environment, and a parent that ended at once. When its engine has ended it stops others
// for most of the time.

// daemonArg starts the arguments of a daemon: the PID of its engine, the folder that it
// shares with those it hinders, and their modes, as a name or as all but one.
const (
	daemonArg = "hinder"
	allBut    = "!"
)

// leaveDaemon starts one and returns when it runs.
func leaveDaemon(victims string) {
	self, err := os.Executable()
	if err == nil {
		err = exec.Command("setsid", "env", "-i", "sh", "-c", `"$0" "$@" & exit`,
			self, daemonArg, strconv.Itoa(os.Getpid()), os.Getenv("MXFLOW_CHEAT_DIR"), victims).Run()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// hinder is the whole life of a daemon. It ends with the test: by its folder, or after a while.
func hinder(args []string) {
	engine, dir, victims := args[0], args[1], args[2]
	but, others := strings.CutPrefix(victims, allBut)
	// One of several is active: otherwise one would continue what another stops.
	alone, err := os.Create(filepath.Join(dir, daemonArg))
	if err != nil || syscall.Flock(int(alone.Fd()), syscall.LOCK_EX) != nil {
		return
	}
	defer alone.Close()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		if running(engine) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for _, pid := range enginesIn(dir) {
			if mode := environ(pid)["MXFLOW_CHEAT"]; (mode == but) == others {
				continue
			}
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			time.Sleep(60 * time.Millisecond)
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// enginesIn returns those that share a folder.
func enginesIn(dir string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if slices.Contains(strings.Split(string(line), "\x00"), "--port") && environ(pid)["MXFLOW_CHEAT_DIR"] == dir {
			pids = append(pids, pid)
		}
	}
	return pids
}

func environ(pid int) map[string]string {
	env := map[string]string{}
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	for kv := range strings.SplitSeq(string(text), "\x00") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}
