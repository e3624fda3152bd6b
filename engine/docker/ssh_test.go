package docker_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sshSocketEnv is the daemon's socket for the stand-in of ssh; empty makes it
// refuse.
const sshSocketEnv = "MXFLOW_TEST_SSH_SOCKET"

// asSSH reports whether the test binary was started as ssh.
func asSSH() bool { return filepath.Base(os.Args[0]) == "ssh" }

// ssh is what becomes of `ssh … HOST docker system dial-stdio` and of
// `ssh -N -L LOCAL:REMOTE … HOST`.
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
