package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// openTries is how often in a row the log of a running container is asked for
// in vain.
const openTries = 5

// follow copies the container's output until it ends: from the attached stream,
// where there is one, and else, or once that broke off, from the log that the
// daemon keeps. Following that log is slow, and daemons lose lines of it when they
// rotate it (Docker 20.10 does), so that it is the second choice.
func (c *Container) follow() {
	defer close(c.drained)
	d := &demux{log: c.log, out: c.log}
	if c.out != nil {
		d.out = c.out
	}
	if c.attached != nil {
		d.live = true
		release := context.AfterFunc(c.life, c.attached.Close)
		_ = d.read(c.attached.Reader)
		c.unread.Store(true)
		d.lost() // first of all: what comes from now on is in the daemon's log
		release()
		c.attached.Close()
		if c.ended() {
			c.unread.Store(false)
			return
		}
	}
	for tries := 0; ; {
		opened, err := c.copyLog(d)
		c.unread.Store(true)
		if c.life.Err() != nil {
			return
		}
		ctx, cancel := context.WithTimeout(c.life, callLimit)
		info, gone := c.Daemon.ContainerInspect(ctx, c.ID)
		cancel()
		switch {
		case cerrdefs.IsNotFound(gone), gone == nil && opened && err == nil && (info.State == nil || !info.State.Running):
			c.unread.Store(false)
			return
		case gone != nil: // the daemon does not answer; await decides what that means
		case opened && !errors.Is(err, errFrame):
			tries = 0
		case tries >= openTries:
			fmt.Fprintf(c.log, "\n[mxflow] the container's log cannot be read: %v\n", err)
			return
		default:
			tries++
		}
		select {
		case <-c.life.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// LogBroken reports whether the container's output is not followed now, or
// some of it was missed, so that what its log lacks proves nothing.
func (c *Container) LogBroken() bool { return c.unread.Load() }

// ended reports whether a stream that broke off did so because the container has
// ended. The daemon closes it a moment before it says so.
func (c *Container) ended() bool {
	ctx, cancel := context.WithTimeout(c.life, 2*time.Second)
	defer cancel()
	ended, failed := c.Daemon.ContainerWait(ctx, c.ID, container.WaitConditionNotRunning)
	select {
	case <-ended:
		return true
	case err := <-failed:
		return cerrdefs.IsNotFound(err) || c.life.Err() != nil
	}
}

// copyLog copies until the stream ends; opened is false where there was none.
func (c *Container) copyLog(d *demux) (opened bool, err error) {
	options := container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true, Timestamps: !c.tty, Since: d.since()}
	if c.tty && c.read { // a terminal's log has no frames to count
		options.Tail = "0"
	}
	stream, err := c.Daemon.ContainerLogs(c.life, c.ID, options)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	c.unread.Store(c.tty && c.read) // what a terminal said meanwhile is not asked for again
	if !c.tty {
		return true, d.read(stream)
	}
	if c.read {
		fmt.Fprintf(c.log, "\n[mxflow] the log was interrupted here: lines may be missing\n")
	}
	c.read = true
	_, err = io.Copy(d.out, stream)
	return true, err
}

// PeakMemory implements engine.Instance. It is what the daemon counts for the
// container once a second, less the file pages that the kernel can take back at
// any time, as `docker stats` shows it; and what resident says of a peak between
// two counts.
func (c *Container) PeakMemory() int64 { return c.peak.Load() }

// sampleMemory raises the peak until the container ends.
func (c *Container) sampleMemory() {
	stats, err := c.Daemon.ContainerStats(c.life, c.ID, true)
	if err != nil {
		return // memory that cannot be seen is unknown, and that is no failure
	}
	defer stats.Body.Close()
	c.readStats(stats.Body)
}

// lookAtMemory takes one sample. It returns when that is there, or done is closed,
// or after a tenth of a second where there is a sample already, and looks on
// meanwhile: daemons up to Docker 20.10 keep who asks waiting for their next count,
// for up to a second.
func (c *Container) lookAtMemory(done <-chan struct{}) {
	const limit = 3 * time.Second
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		ctx, cancel := context.WithTimeout(c.life, limit)
		defer cancel()
		stats, err := c.Daemon.ContainerStatsOneShot(ctx, c.ID)
		if err != nil {
			return
		}
		defer stats.Body.Close()
		c.readStats(stats.Body)
	}()
	wait := limit
	if c.peak.Load() > 0 {
		wait = 100 * time.Millisecond
	}
	select {
	case <-looked:
	case <-done:
	case <-time.After(wait):
	}
}

func (c *Container) readStats(from io.Reader) {
	for dec := json.NewDecoder(from); ; {
		var s container.StatsResponse
		if dec.Decode(&s) != nil {
			return
		}
		raise(&c.cached, cachedFiles(s.MemoryStats))
		raise(&c.peak, resident(s.MemoryStats, c.cached.Load()))
	}
}

// raise makes a mark that only grows at least now.
func raise(mark *atomic.Int64, now int64) {
	for was := mark.Load(); now > was && !mark.CompareAndSwap(was, now); {
		was = mark.Load()
	}
}

// resident is the memory in use without cached files, or the most that was ever
// in use, less the most that such files ever took, where that is more: a spike
// between two counts. Only cgroup v1 gives that mark; it counts files as well, and
// what they took at the time is not known.
func resident(m container.MemoryStats, mostCached int64) int64 {
	return max(int64(m.Usage)-cachedFiles(m), int64(m.MaxUsage)-mostCached)
}

// cachedFiles are the file pages that can be taken back: inactive_file is cgroup
// v2's name, total_inactive_file v1's.
func cachedFiles(m container.MemoryStats) int64 {
	cached, ok := m.Stats["total_inactive_file"]
	if !ok {
		cached = m.Stats["inactive_file"]
	}
	return int64(min(cached, m.Usage))
}
