package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Stop implements engine.Instance. The container itself goes on running.
func (e *execed) Stop(ctx context.Context) error {
	return e.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		if err := e.finish(hurry); err != nil {
			return e.failure("stop", err, "%v", err)
		}
		return nil
	})
}

// finish asks everything of the launch to end, once each, and kills what is left
// after the grace; it returns when nothing of the launch runs any more. What left
// the command's group is not waited with until the command has ended: a daemon may
// not say so before the last process that holds its output has ended as well.
func (e *execed) finish(hurry <-chan struct{}) error {
	grace := time.NewTimer(e.spec.StopGrace)
	defer grace.Stop()
	if e.Exit() == nil {
		e.sampleMemory()
	}
	var asked []string
	exited := e.exited
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ended := e.Exit() != nil
		if ended && (e.how.err != nil || e.how.why != "") {
			return e.kill() // nothing of it can be asked
		}
		if left := e.ask(&asked); ended && !left {
			return e.close()
		}
		if ended {
			exited = nil
		}
		select {
		case <-exited:
		case <-time.After(wait):
		case <-grace.C:
			return e.kill()
		case <-hurry:
			return e.kill()
		}
	}
}

// ask sends SIGTERM to what runs of the launch, but for those that were asked
// already, and reports whether there is anything. A signal that does not arrive
// shows in that nothing ends. In a container that does not run any more there is
// nothing.
func (e *execed) ask(asked *[]string) bool {
	left, err := e.in.signal(e.sessionNow(), "TERM", *asked...)
	if err != nil {
		return e.in.lost() == ""
	}
	*asked = left
	return len(left) > 0
}

func (e *execed) kill() error {
	e.killed.Store(true)
	if err := e.in.killAll(e.sessionNow(), killWait); err != nil {
		return err
	}
	select {
	case <-e.exited:
	case <-time.After(killWait):
		return fmt.Errorf("the daemon %s still counts the command as running", e.in.d.Name)
	}
	return e.close()
}

// close gives everything back.
func (e *execed) close() error {
	e.removeFolder()
	e.end()
	e.stream.Close()
	<-e.drained
	e.log.Close()
	if e.out != nil {
		e.out.Close()
	}
	e.reach.release()
	return nil
}

// sessionNow is the session as scriptFamily takes it.
func (e *execed) sessionNow() string {
	if e.Exit() != nil {
		return "x" + e.session
	}
	return e.session
}

// signal is family with a limit of its own.
func (s *shell) signal(session, what string, but ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return s.family(ctx, session, what, but...)
}

// killAll kills the processes of the launch until none is left. A container that
// does not run any more has none.
func (s *shell) killAll(session string, limit time.Duration) error {
	end := time.Now().Add(limit)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		left, err := s.signal(session, "KILL")
		if err == nil && len(left) == 0 {
			return nil
		}
		switch {
		case err != nil && s.lost() != "":
			return nil
		case time.Now().Before(end):
		case err != nil:
			return fmt.Errorf("what runs in container %s cannot be looked at: %w", s.name, err)
		default:
			return errors.New("in container " + s.name + " there still run " + strings.Join(left, ", ") + ", " + limit.String() + " after SIGKILL")
		}
		if !strings.HasPrefix(session, "x") && session != "0" {
			session = "x" + session // its leader was killed
		}
		time.Sleep(wait)
	}
}
