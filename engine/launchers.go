package engine

import "context"

// Launchers chooses the launcher that a Spec asks for.
type Launchers struct {
	Process, Docker, Compose, Exec, Endpoint Launcher
}

// Identifier is a Launcher that can say what a Spec would start without starting
// it: the digest of an image, the hash of a program. Equal identities start the
// same thing. Where it cannot be found out now, the identity says so in a word
// ("missing") and the error why.
type Identifier interface {
	Identify(ctx context.Context, spec Spec) (string, error)
}

// Launch implements Launcher.
func (ls Launchers) Launch(ctx context.Context, spec Spec, l Launch) (Instance, error) {
	launcher := ls.of(spec)
	if launcher == nil {
		return nil, startFailure(nil, "this mxflow has no launcher %q", spec.How())
	}
	return launcher.Launch(ctx, spec, l)
}

// Identify implements Identifier; empty where the launcher cannot tell.
func (ls Launchers) Identify(ctx context.Context, spec Spec) (string, error) {
	if id, ok := ls.of(spec).(Identifier); ok {
		return id.Identify(ctx, spec)
	}
	return "", nil
}

func (ls Launchers) of(spec Spec) Launcher {
	return map[string]Launcher{
		"process": ls.Process, "docker": ls.Docker, "compose": ls.Compose, "exec": ls.Exec, "endpoint": ls.Endpoint,
	}[spec.How()]
}
