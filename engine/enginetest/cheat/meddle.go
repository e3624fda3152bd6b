package main

import (
	"log"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// What an engine does to mxflow from outside, or to its guard. It does it when asked to
// end, for the following launches, and undoes it when it starts, for itself.

func killGuard() { _ = syscall.Kill(os.Getppid(), syscall.SIGKILL) }

func bind() {
	meddle(`taskset -acp "$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status")" "$1"`)
}

func unbind() {
	meddle(`for pid in "$1" "$2"; do taskset -acp "0-$(($(nproc --all) - 1))" "$pid"; done`)
	runtime.GOMAXPROCS(2)
}

func lower() { meddle(`renice -n 19 -p $(ls "/proc/$1/task")`) }

// raise works for the superuser only: others continue without.
func raise() {
	meddle(`renice -n 0 -p $(ls "/proc/$1/task" "/proc/$2/task" | grep '^[0-9]*$') || true`)
}

var parentLine = regexp.MustCompile(`(?m)^PPid:\t(\d+)$`)

// meddle runs a script with the PIDs of mxflow, the guard's parent, and of this server.
func meddle(script string) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/status")
	parent := parentLine.FindSubmatch(status)
	if err != nil || parent == nil {
		log.Fatal("mxflow is not to be found: ", err)
	}
	if out, err := exec.Command("sh", "-c", script, "sh", string(parent[1]), strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		log.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// computed is a thread's work for a token, about a millisecond.
var computed = string(make([]byte, 1<<20))

// compute is a token's work, which takes twice as long on one CPU as on two.
func compute() {
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() { hashOf(computed) })
	}
	threads.Wait()
}
