package docker

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/process"
)

// tunnel is an ssh command that forwards a loopback port of this machine to one
// of the daemon's.
type tunnel struct {
	local   string // host:port
	command engine.Command
	release func()
}

// openTunnel starts the ssh command. Its output lies beside the engine's log. It
// ends with mxflow, and Sweep finds it where it does not. Whether it works shows
// when the engine is asked.
func openTunnel(d *Daemon, remote string, launch engine.Launch) (*tunnel, error) {
	target, _, err := sshTarget(d.end.host)
	if err != nil {
		return nil, err
	}
	port, release, err := process.FreePort()
	if err != nil {
		return nil, fmt.Errorf("no free port for a tunnel to %s: %w", d.Name, err)
	}
	t := &tunnel{local: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release: release}
	launch.LogPath, launch.OutPath = launch.LogPath+".ssh", ""
	t.command, err = process.StartCommand(engine.Spec{
		Command: slices.Concat([]string{"ssh"}, sshOptions,
			[]string{"-N", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15", "-L", t.local + ":" + remote}, target),
	}, launch)
	if err != nil {
		release()
		return nil, fmt.Errorf("the tunnel to %s cannot be opened: %w", d.Name, err)
	}
	return t, nil
}

// broken says how the tunnel ended; empty while it stands.
func (t *tunnel) broken() string {
	if t == nil || t.command.Exit() == nil {
		return ""
	}
	said := strings.Join(logscan.Tail(t.command.LogPath(), 1), "")
	return fmt.Sprintf("; the ssh tunnel to it is gone (%s): %s", t.command.Exit(), said)
}

func (t *tunnel) close() {
	done, cancel := context.WithCancel(context.Background())
	cancel() // it has nothing to finish
	_ = t.command.Stop(done)
	t.release()
}
