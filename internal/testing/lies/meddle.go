package lies

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// What an engine does to mxflow and to other engines from outside. It does it when asked to
// end, for the following launches.

func killGuard() error {
	guard, err := os.FindProcess(os.Getppid())
	if err != nil {
		return err
	}
	return guard.Kill()
}

// pry opens the memory of mxflow, the parent of this engine's guard, as far as it may, and leaves
// it open.
func pry(string) error {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/stat")
	if _, rest, ok := strings.Cut(string(stat), ") "); err == nil && ok {
		_, _ = syscall.Open("/proc/"+strings.Fields(rest)[1]+"/mem", syscall.O_RDONLY, 0)
	}
	return nil
}

// held is memory in use.
var held []byte

func hold(bytes int) func(string) error {
	return func(string) error {
		held = make([]byte, bytes)
		for i := 0; i < bytes; i += os.Getpagesize() {
			held[i] = 1
		}
		return nil
	}
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
		return exec.Command("setsid", "env", "-i", "PATH="+os.Getenv("PATH"), "sh", "-c",
			`sh -c "$0" hinder "$@" & exit`, hinder,
			strconv.Itoa(os.Getpid()), folder, name, strconv.FormatBool(others), envLieDir, envLie).Run()
	}
}
