package docker

import (
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
)

// exitOf reads docker's exit status: 128 and a signal's number is how the init
// process of the container, like a shell, says that a signal ended the program.
func exitOf(code int) engine.Exit {
	if code > 128 && code <= 128+64 {
		if name := unix.SignalName(syscall.Signal(code - 128)); name != "" {
			return engine.Exit{Code: -1, Signal: name}
		}
	}
	return engine.Exit{Code: code}
}

// initFailed is what the init process of a container (tini) prints when the
// program that it is to start cannot be.
var initFailed = regexp.MustCompile(`\[FATAL tini \(\d+\)\] exec (.*) failed: (.*)`)

// missingProgram explains an end with status 126 or 127 that the container's
// init process reports; empty where it was something else.
func missingProgram(f *engine.Failure) string {
	if f.Exit.Code != 126 && f.Exit.Code != 127 {
		return ""
	}
	for _, line := range f.LogTail {
		if m := initFailed.FindStringSubmatch(line); m != nil {
			return noProgram(m[1], m[2])
		}
	}
	return ""
}

func noProgram(program, why string) string {
	return `the image has no program "` + program + `" that can be run (` + strings.ToLower(why) + "): correct entrypoint or command, or the image"
}
