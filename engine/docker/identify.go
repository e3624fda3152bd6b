package docker

import (
	"context"
	"fmt"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mxflow/mxflow/engine"
)

const (
	// identifyLimit bounds the question which image a name stands for: whoever
	// only looks at a plan must not wait for a daemon that is away.
	identifyLimit = 3 * time.Second
	// keepIdentity and keepAbsence are how long an answer is good for. An image
	// may be built anew at any time; a daemon that does not answer is asked again
	// only by the next command.
	keepIdentity = time.Second
	keepAbsence  = time.Minute
)

// identity is what is known of one image.
type identity struct {
	is    string
	err   error
	until time.Time
}

var identities = struct {
	sync.Mutex
	by map[string]identity
}{by: map[string]identity{}}

// Identify implements engine.Identifier: the digest of the image, or its ID where
// it was built on the daemon and no registry knows it. Where it is not there, or
// no daemon answers, it is "missing", and the error says why.
func (l Launcher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	kind, failure := spec.Prepare()
	if failure != nil {
		return "missing", failure
	}
	if spec.Docker == nil || imageOf(spec, kind) == "" {
		return "missing", fmt.Errorf("engine kind %q: no image is named", spec.Kind)
	}
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	is, err := ImageIdentity(ctx, spec.Docker.Host, spec.Docker.Context, imageOf(spec, kind))
	return is + elsewhere(spec.Docker.Host, spec.Docker.Context), err
}

// elsewhere names a daemon that is reached over a network, since the same image
// on another machine is measured anew, whether the plan or the environment leads
// there. It is empty for one of this machine.
func elsewhere(host, name string) string {
	end, err := findEndpoint(host, name)
	if err != nil || end.scheme() == "unix" {
		return ""
	}
	return " on " + end.host
}

// ImageIdentity is what the name of an image stands for now on a daemon: its
// digest, else its ID, or "missing" and why.
func ImageIdentity(ctx context.Context, host, name, ref string) (string, error) {
	end, err := findEndpoint(host, name)
	if err != nil {
		return "missing", err
	}
	identities.Lock()
	defer identities.Unlock()
	for _, key := range []string{end.String(), end.String() + " " + ref} {
		if known, ok := identities.by[key]; ok && time.Now().Before(known.until) {
			return known.is, known.err
		}
	}
	d, err := Connect(ctx, host, name)
	if err != nil {
		identities.by[end.String()] = identity{"missing", err, time.Now().Add(keepAbsence)}
		return "missing", err
	}
	info, err := d.ImageInspect(ctx, ref)
	switch {
	case cerrdefs.IsNotFound(err):
		return "missing", fmt.Errorf("image %q is not on the docker daemon %s", ref, d.Name)
	case err != nil:
		return "missing", fmt.Errorf("image %q cannot be looked at: %w", ref, err)
	}
	is := digestOf(ref, info)
	if is == "" {
		is = info.ID
	}
	identities.by[end.String()+" "+ref] = identity{is: is, until: time.Now().Add(keepIdentity)}
	return is, nil
}

// forget drops what is known of a daemon that answered and of an image that may
// be another one now.
func forget(d *Daemon, ref string) {
	identities.Lock()
	defer identities.Unlock()
	delete(identities.by, d.Name)
	delete(identities.by, d.Name+" "+ref)
}
