package embedded

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

// What an engine does to mxflow and to other engines from outside. It does it when asked to
// end, for the following launches, and undoes it when it starts, for itself.

func killGuard() error {
	guard, err := os.FindProcess(os.Getppid())
	if err != nil {
		return err
	}
	return guard.Kill()
}

func bind() error {
	return meddle(`taskset -acp "$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status")" "$1"`)
}

func unbind(string) error {
	defer runtime.GOMAXPROCS(2)
	return meddle(`for pid in "$1" "$2"; do taskset -acp "0-$(($(nproc --all) - 1))" "$pid"; done`)
}

func lower() error { return meddle(`renice -n 19 -p $(ls "/proc/$1/task")`) }

// raise works for the superuser only: others continue without.
func raise(string) error {
	return meddle(`renice -n 0 -p $(ls "/proc/$1/task" "/proc/$2/task" | grep '^[0-9]*$') || true`)
}

// meddle runs a script with the PIDs of mxflow, the guard's parent, and of this server.
func meddle(script string) error {
	const arguments = `set -- "$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$1/status")" "$2"; `
	out, err := exec.Command("sh", "-c", arguments+script, "sh", strconv.Itoa(os.Getppid()), strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	return nil
}

// leave leaves a daemon that outlives this engine: it has its own session, an empty
// environment, and a parent that ended at once. When its engine has ended it stops others
// for most of the time: those of a lie, or all but those. It ends with the test: by its
// folder, or after a while. One of several is active: otherwise one would continue what
// another stops.
func leave(name string, others bool) func(folder string) error {
	const hinder = `exec 9> "$2/hinder" && flock 9 || exit
end=$(($(date +%s) + 120))
while [ -d "$2" ] && [ "$(date +%s)" -lt "$end" ]; do
	if grep -qs '^State:.[^Z]' "/proc/$1/status"; then sleep 0.01; continue; fi
	for environ in $(grep -lzsxF "$5=$2" /proc/[0-9]*/environ); do
		of=${environ%/environ}
		grep -qzsxe --port "$of/cmdline" || continue
		if grep -qzsx "$6=$3" "$environ"; then others=false; else others=true; fi
		[ "$others" = "$4" ] || continue
		kill -STOP "${of#/proc/}"; sleep 0.06; kill -CONT "${of#/proc/}"
	done
	sleep 0.02
done`
	return func(folder string) error {
		return exec.Command("setsid", "env", "-i", "PATH="+os.Getenv("PATH"), "sh", "-c", `sh -c "$0" hinder "$@" & exit`, hinder,
			strconv.Itoa(os.Getpid()), folder, name, strconv.FormatBool(others), envLieDir, envLie).Run()
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
