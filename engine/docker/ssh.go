package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/plans/redact"
)

// sshTarget converts an ssh:// address to ssh arguments: the options for user and port,
// then the host.
func sshTarget(address string) (args []string, socket string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
		return nil, "", fmt.Errorf("%q is not the address of a docker daemon: write ssh://user@host", address)
	}
	if _, set := u.User.Password(); set {
		return nil, "", fmt.Errorf("the docker address ssh://%s contains a password: use a key (ssh-copy-id)", u.Hostname())
	}
	if user := u.User.Username(); user != "" {
		args = append(args, "-l", user)
	}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	return append(args, "--", u.Hostname()), strings.TrimSuffix(u.Path, "/"), nil
}

// sshOptions make ssh fail rather than prompt for a password.
var sshOptions = []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-T"}

// sshDialer reaches a daemon as the docker command does: on the other machine `docker
// system dial-stdio` connects its standard streams to the daemon's socket.
func sshDialer(address string) (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	target, socket, err := sshTarget(address)
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, sshOptions...), target...)
	args = append(args, "docker")
	if socket != "" {
		args = append(args, "--host", "unix://"+socket)
	}
	args = append(args, "system", "dial-stdio")
	return func(context.Context, string, string) (net.Conn, error) { return dialCommand("ssh", args...) }, nil
}

// commandConn is a connection over the standard streams of a command.
type commandConn struct {
	io.ReadCloser
	in     io.WriteCloser
	cmd    *exec.Cmd
	stderr *tailBuffer
	ended  sync.Once
}

func dialCommand(name string, args ...string) (net.Conn, error) {
	c := &commandConn{cmd: exec.Command(name, args...), stderr: &tailBuffer{}}
	c.cmd.Stderr, c.cmd.WaitDelay = c.stderr, time.Second
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.ReadCloser, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	return c, nil
}

// Read returns the command's error output at the end of the stream.
func (c *commandConn) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		c.wait() // for the rest of its error output
		if said := c.stderr.String(); said != "" {
			return 0, fmt.Errorf("%s: %s: %w", c.cmd.Args[0], said, io.ErrUnexpectedEOF)
		}
	}
	return n, err
}

func (c *commandConn) Write(p []byte) (int, error) { return c.in.Write(p) }

// CloseWrite closes only the input.
func (c *commandConn) CloseWrite() error { return c.in.Close() }

// Close also ends the command.
func (c *commandConn) Close() error {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	go c.wait()
	return nil
}

func (c *commandConn) wait() { c.ended.Do(func() { _ = c.cmd.Wait() }) }

func (c *commandConn) LocalAddr() net.Addr                { return commandAddr(c.cmd.Args[0]) }
func (c *commandConn) RemoteAddr() net.Addr               { return commandAddr(c.cmd.Args[0]) }
func (c *commandConn) SetDeadline(time.Time) error        { return nil }
func (c *commandConn) SetReadDeadline(t time.Time) error  { return nil }
func (c *commandConn) SetWriteDeadline(t time.Time) error { return nil }

type commandAddr string

func (commandAddr) Network() string  { return "command" }
func (a commandAddr) String() string { return string(a) }

// tailBuffer keeps the end of a command's output.
type tailBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	const most = 2 << 10
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	b.text = b.text[max(0, len(b.text)-most):]
	return len(p), nil
}

// String is its contents on one line.
func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := redact.Known().Begun(string(bytes.ToValidUTF8(b.text, nil)))
	return strings.Join(strings.Fields(text), " ")
}

// tunnel is an ssh command that forwards a loopback port of this machine to one of the
// daemon's.
type tunnel struct {
	local   string // host:port
	command engine.Command
	release func()
}

// openTunnel starts the ssh command. Its output is beside the engine's log. It ends with
// mxflow, or Sweep finds it. Whether it works shows when the engine is queried.
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
		return nil, fmt.Errorf("cannot open the tunnel to %s: %w", d.Name, err)
	}
	return t, nil
}

// broken is how the tunnel ended; empty while it works.
func (t *tunnel) broken() string {
	if t == nil || t.command.Exit() == nil {
		return ""
	}
	said := strings.Join(logscan.Tail(t.command.LogPath(), 1), "")
	return fmt.Sprintf("; its ssh tunnel ended (%s): %s", t.command.Exit(), said)
}

func (t *tunnel) close() {
	done, cancel := context.WithCancel(context.Background())
	cancel() // it has nothing to finish
	_ = t.command.Stop(done)
	t.release()
}
