package docker

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

var (
	_ engine.Host = (*instance)(nil)
	_ engine.Host = (*execInstance)(nil)
)

// Beside implements engine.Host.
func (i *instance) Beside(ctx context.Context, g engine.Guest, l engine.Launch) (engine.Inside, error) {
	return i.Daemon.beside(ctx, engine.Exec{Container: i.ID}, i.at, g, l)
}

// Beside implements engine.Host.
func (e *execInstance) Beside(ctx context.Context, g engine.Guest, l engine.Launch) (engine.Inside, error) {
	return e.in.d.beside(ctx, engine.Exec{Container: e.in.id, WorkDir: e.spec.Exec.WorkDir, User: e.spec.Exec.User}, e.at, g, l)
}

// guest is a program in the container of an engine.
type guest struct {
	*execInstance
	// files is its folder in the container.
	files string
}

// beside starts a guest in a container whose engine listens at the given ports.
func (d *Daemon) beside(ctx context.Context, block engine.Exec, at *ports, g engine.Guest, l engine.Launch) (engine.Inside, error) {
	inside, err := d.letIn(ctx, block, at, g, l)
	if err == nil {
		return inside, nil
	}
	failure, own := errors.AsType[*engine.Failure](err)
	if !own {
		failure = engine.StartFailure(err, "%v", err)
	}
	failure.Of = "command"
	return nil, failure
}

func (d *Daemon) letIn(ctx context.Context, block engine.Exec, at *ports, g engine.Guest, l engine.Launch) (*guest, error) {
	in, err := enter(ctx, d, block.Container, markOf(l))
	if err != nil {
		return nil, err
	}
	files := "/tmp/mxflow-" + strings.ToLower(rand.Text())
	discard := func() { (&guest{&execInstance{in: in}, files}).Discard() }
	if err := in.put(ctx, files, g.Files); err != nil {
		discard()
		return nil, fmt.Errorf("cannot copy its files into container %q: %w", in.name, err)
	}
	block.Host, block.Context = d.end.host, ""
	if d.end.context != "" {
		block.Host, block.Context = "", d.end.context
	}
	if g.Dir != "" {
		block.WorkDir = g.Dir
	}
	inst, err := ExecLauncher{}.Launch(ctx, engine.Spec{
		Profile: &kinds.Kind{Name: "program"}, // not a server: nothing waits for it
		Command: g.Command, Env: g.Env(in.url(ctx, at), files), StopGrace: g.StopGrace, Exec: &block,
	}, l)
	if err != nil {
		discard()
		return nil, err
	}
	return &guest{inst.(*execInstance), files}, nil
}

// url is an engine's API as reached by programs in its container.
func (s *shell) url(ctx context.Context, at *ports) string {
	if at.inside == 0 {
		return ""
	}
	host := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	// A listener on loopback or on all addresses is reached at loopback; else at its own
	// address.
	if busy, err := s.listening(ctx); err == nil {
		if on := busy[at.inside]; len(on) > 0 && !slices.ContainsFunc(on, func(ip netip.Addr) bool { return ip == host || ip.IsUnspecified() }) {
			host = on[0]
		}
	}
	return "http://" + net.JoinHostPort(host.String(), strconv.Itoa(at.inside))
}

// put copies files and folders of this machine into a new folder of the container, where
// every user may read them and write to the folders.
func (s *shell) put(ctx context.Context, folder string, files map[string]string) error {
	if _, err := s.run(ctx, `mkdir -p /tmp`); err != nil {
		return err
	}
	from, to := io.Pipe()
	go func() {
		w := tar.NewWriter(to)
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path.Base(folder) + "/", Mode: 0o755})
		for _, name := range sortedKeys(files) {
			if err == nil {
				err = tarTree(w, path.Join(path.Base(folder), name), files[name])
			}
		}
		if err == nil {
			err = w.Close()
		}
		_ = to.CloseWithError(err)
	}()
	err := s.d.CopyToContainer(ctx, s.id, path.Dir(folder), from, container.CopyToContainerOptions{})
	_ = from.Close()
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, `[ -d "$1" ]`, folder); err != nil {
		return errors.New("files that the daemon copies to its /tmp are not visible there: do not mount a tmpfs on it")
	}
	return nil
}

// tarTree writes a file, or a folder with its contents, under a name.
func tarTree(w *tar.Writer, name, from string) error {
	return filepath.WalkDir(from, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		at := path.Join(name, filepath.ToSlash(rel))
		switch {
		case e.IsDir():
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: at + "/", Mode: 0o777})
		case !e.Type().IsRegular():
			return nil
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: at, Mode: 0o644, Size: info.Size()}); err != nil {
			return err
		}
		_, err = io.CopyN(w, f, info.Size()) // a log grows meanwhile
		return err
	})
}

// Fetch implements engine.Inside.
func (g *guest) Fetch(ctx context.Context, name, to string, most int64) error {
	switch {
	case g.Exit() == nil:
		return errors.New("it is still running")
	case g.how.why != "":
		return errors.New(g.how.why)
	case g.cut.Load():
		return errors.New("its output is incomplete: the connection to the daemon broke, or a process that it left behind held the output open")
	}
	stream, _, err := g.in.d.CopyFromContainer(ctx, g.in.id, path.Join(g.files, name))
	if err != nil {
		return err
	}
	defer stream.Close()
	return untar(stream, to, most)
}

// untar unpacks the one folder of an archive into a folder of this machine: only files
// and folders, and nothing outside of it. Of files larger than most only the size is
// kept.
func untar(from io.Reader, to string, most int64) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(from); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(path.Clean(h.Name), "/")
		switch {
		case name == "":
		case h.Typeflag == tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case h.Typeflag == tar.TypeReg:
			err = untarFile(root, name, archive, h.Size, most)
		case h.Typeflag == tar.TypeLink:
			_, old, _ := strings.Cut(path.Clean(h.Linkname), "/")
			err = root.Link(old, name)
		}
		if err != nil {
			return err
		}
	}
}

func untarFile(root *os.Root, name string, from io.Reader, size, most int64) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	if size > most {
		err = f.Truncate(size)
	} else {
		_, err = io.Copy(f, from)
	}
	return errors.Join(err, f.Close())
}

// Discard implements engine.Inside.
func (g *guest) Discard() {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	_, _ = g.in.run(ctx, `rm -rf "$1"`, g.files)
}
