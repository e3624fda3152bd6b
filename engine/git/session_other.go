//go:build !unix

package git

import "os/exec"

func ownSession(*exec.Cmd) {}
