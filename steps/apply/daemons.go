package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/store"
)

// daemonsName is the file in the state directory that lists the docker daemons on which
// mxflow may have left something.
const daemonsName = "docker.json"

// daemonRef identifies a daemon.
type daemonRef struct {
	Host string `json:"host"`
	// Container is the ID of a container that mxflow did not start, but in which it
	// started commands; empty for mxflow's own containers.
	Container string `json:"container,omitempty"`
}

// daemonList is that file. A daemon is added before anything is started on it and removed
// once nothing is left there, so a plan without docker queries no daemon.
type daemonList struct{ path string }

// daemonsMu guards the file: several launchers add daemons.
var daemonsMu sync.Mutex

func daemonsOf(st *store.Store) *daemonList {
	return &daemonList{path: filepath.Join(st.Dir(), daemonsName)}
}

func (l *daemonList) read() (refs []daemonRef, err error) {
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &refs)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the list of used docker daemons, %s: %w; "+
			"if nothing labelled %s runs on any of them, remove the file", l.path, err, docker.LabelOwner)
	}
	return refs, nil
}

// write replaces the file atomically: after a crash it is the old one or the new one.
func (l *daemonList) write(refs []daemonRef) error {
	if len(refs) == 0 {
		if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(refs, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(l.path), daemonsName+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// remember adds a daemon.
func (l *daemonList) remember(d *docker.Daemon) error { return l.rememberExec(d, "") }

// rememberExec adds a container in which commands are started.
func (l *daemonList) rememberExec(d *docker.Daemon, container string) error {
	ref := daemonRef{Host: d.Name, Container: container}
	daemonsMu.Lock()
	defer daemonsMu.Unlock()
	refs, err := l.read()
	if err != nil || slices.Contains(refs, ref) {
		return err
	}
	return l.write(append(refs, ref))
}

// sweepTime bounds the search for leftovers on one daemon.
const sweepTime = 2 * time.Minute

// clean removes the containers that a killed apply left on the listed daemons. One that
// does not answer, or that DOCKER_HOST no longer names, stays on the list: what is left
// there may hold a GPU. So does one whose query hard cut short.
func (l *daemonList) clean(hard context.Context, owner string, note func(verdict.Reason)) (removed int, err error) {
	refs, err := l.read()
	if err != nil || len(refs) == 0 {
		return 0, err
	}
	var left []daemonRef
	for _, ref := range refs {
		ctx, cancel := context.WithTimeout(hard, sweepTime)
		swept, ended, failed := sweepDaemon(ctx, ref, owner)
		cancel()
		for _, s := range swept {
			note(verdict.Say("apply.left_container",
				"removed container {subject} ({image}, started {started}), which an earlier apply left on "+
					"{daemon} (launch {launch})",
				verdict.Text("image", s.Image), verdict.Text("started", s.Started.Local().Format(time.DateTime)),
				verdict.Text("daemon", s.Daemon), verdict.Text("launch", s.Launch)).On(s.Name))
		}
		if ended.Processes > 0 {
			note(verdict.Say("apply.left_in_container",
				"stopped what an earlier apply left running in container {subject} on {daemon} ({processes} of "+
					"its processes)",
				verdict.Text("daemon", ended.Daemon), verdict.Text("processes", strconv.Itoa(ended.Processes))).On(ended.Container))
		}
		removed += len(swept)
		switch {
		case errors.Is(failed, docker.ErrUnreachable), failed != nil && hard.Err() != nil:
			note(verdict.Say("apply.left_unknown",
				"cannot tell whether an earlier apply left containers there: {error}",
				verdict.Err(failed)))
			left = append(left, ref)
		case failed != nil:
			return removed, failed
		}
	}
	return removed, l.write(left)
}

func sweepDaemon(ctx context.Context, ref daemonRef, owner string) (removed []docker.Leftover, ended docker.ExecLeftover, err error) {
	d, err := docker.Connect(ctx)
	if err == nil && d.Name != ref.Host {
		err = fmt.Errorf("an earlier apply used the docker daemon %s, and DOCKER_HOST now names another: %w", ref.Host, docker.ErrUnreachable)
	}
	if err != nil {
		return nil, ended, err
	}
	if ref.Container != "" {
		ended, err = docker.SweepExec(ctx, d, ref.Container, owner)
		return nil, ended, err
	}
	removed, err = docker.Sweep(ctx, d, owner, time.Now())
	return removed, ended, err
}
