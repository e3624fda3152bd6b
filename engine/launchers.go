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

// Fetcher is a Launcher that can bring what a Spec starts from, an image, to where
// it is started: before it is identified, so that its identity is that of what is
// launched. made names who makes an image in place of a registry, and is empty
// where nobody does. What else may be wrong with the Spec is left to Launch.
type Fetcher interface {
	Fetch(ctx context.Context, spec Spec, made func(image string) string) error
}

// Launch implements Launcher.
func (ls Launchers) Launch(ctx context.Context, spec Spec, l Launch) (Instance, error) {
	launcher := ls.of(spec)
	if launcher == nil {
		return nil, StartFailure(nil, "this mxflow has no launcher %q", spec.How())
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

// Fetch implements Fetcher; a launcher that fetches nothing has nothing to do.
func (ls Launchers) Fetch(ctx context.Context, spec Spec, made func(image string) string) error {
	if f, ok := ls.of(spec).(Fetcher); ok {
		return f.Fetch(ctx, spec, made)
	}
	return nil
}

func (ls Launchers) of(spec Spec) Launcher {
	return map[string]Launcher{
		"process": ls.Process, "docker": ls.Docker, "compose": ls.Compose, "exec": ls.Exec, "endpoint": ls.Endpoint,
	}[spec.How()]
}
