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

// finish asks the command's group to end, then what left the group, then kills;
// it returns when nothing of the launch runs any more.
func (e *execed) finish(hurry <-chan struct{}) error {
	grace := time.NewTimer(e.spec.StopGrace)
	defer grace.Stop()
	if e.Exit() == nil {
		e.sampleMemory()
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		// A signal that does not arrive shows in that nothing ends.
		_, _ = e.in.run(ctx, scriptGroup, e.session)
		cancel()
		select {
		case <-e.exited:
		case <-grace.C:
			return e.kill()
		case <-hurry:
			return e.kill()
		}
	}
	if how := e.how; how.err != nil || how.why != "" {
		return e.kill() // nothing of it can be asked
	}
	if !e.anyLeft("TERM") {
		return e.close()
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		select {
		case <-time.After(wait):
		case <-grace.C:
			return e.kill()
		case <-hurry:
			return e.kill()
		}
		if !e.anyLeft("list") {
			return e.close()
		}
	}
}

// anyLeft reports whether something of the launch runs, and signals it. In a
// container that does not run any more there is nothing.
func (e *execed) anyLeft(what string) bool {
	left, err := e.in.signal(e.sessionNow(), what)
	if err != nil {
		return e.in.lost() == ""
	}
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
func (s *shell) signal(session, what string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return s.family(ctx, session, what)
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
