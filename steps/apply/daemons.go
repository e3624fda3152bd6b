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

// remember adds a daemon, and a container in which commands are started if that is given.
func (l *daemonList) remember(host, container string) error {
	ref := daemonRef{Host: host, Container: container}
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
// does not answer, or that the docker command no longer uses, stays on the list: what is
// left there may hold a GPU. So does one whose query hard cut short.
func (l *daemonList) clean(hard context.Context, owner string, note func(verdict.Reason)) (removed int, err error) {
	refs, err := l.read()
	if err != nil || len(refs) == 0 {
		return 0, err
	}
	var left []daemonRef
	for _, ref := range refs {
		n, failed := sweepDaemon(hard, ref, owner, note)
		removed += n
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

// sweepDaemon removes what a killed apply left on one daemon, or in one container.
func sweepDaemon(ctx context.Context, ref daemonRef, owner string, note func(verdict.Reason)) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	host, err := docker.Connect(ctx)
	if err == nil && host != ref.Host {
		err = fmt.Errorf("an earlier apply used the docker daemon %s, and the docker command now uses %s: %w", ref.Host,
			host, docker.ErrUnreachable)
	}
	if err != nil {
		return 0, err
	}
	if ref.Container != "" {
		name, processes, err := docker.SweepExec(ctx, ref.Container, owner)
		if processes > 0 {
			note(verdict.Say("apply.left_in_container",
				"stopped leftovers of an earlier apply in container {subject} on {daemon} ({processes} of "+
					"its processes)",
				verdict.Text("daemon", host), verdict.Text("processes", strconv.Itoa(processes))).On(name))
		}
		return 0, err
	}
	swept, err := docker.Sweep(ctx, owner, time.Now())
	for _, s := range swept {
		note(verdict.Say("apply.left_container",
			"removed container {subject} ({image}, started {started}), which an earlier apply left on "+
				"{daemon} (launch {launch})",
			verdict.Text("image", s.Image), verdict.Text("started", s.Started.Local().Format(time.DateTime)),
			verdict.Text("daemon", s.Daemon), verdict.Text("launch", s.Launch)).On(s.Name))
	}
	return len(swept), err
}
