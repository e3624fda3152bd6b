package docker

import (
	"context"
	"fmt"
	"strings"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine"
)

// Fetched is what one apply has asked registries for: each image once, so that
// all its launches have the same one, and a registry that is away is waited for
// once. The zero value is ready to use; nil asks as often as an image is used.
type Fetched struct {
	mu sync.Mutex
	// by has how it went, by daemon, image and policy.
	by map[string]error
}

var (
	_ engine.Fetcher = Launcher{}
	_ engine.Fetcher = ComposeLauncher{}
)

// Fetch implements engine.Fetcher.
func (l Launcher) Fetch(ctx context.Context, spec engine.Spec, made func(image string) string) error {
	kind, failure := spec.Prepare()
	if failure != nil || spec.Docker == nil {
		return nil // Launch says what is wrong
	}
	d, err := Connect(ctx, spec.Docker.Host, spec.Docker.Context)
	if err != nil {
		return ctx.Err()
	}
	return l.Fetched.fetch(ctx, d, imageOf(spec, kind), spec.Docker.Pull, l.Progress, made)
}

// Fetch implements engine.Fetcher: it brings the image of the service, where
// compose does not build it.
func (l ComposeLauncher) Fetch(ctx context.Context, spec engine.Spec, made func(image string) string) error {
	if spec.Compose == nil {
		return nil
	}
	d, err := Connect(ctx, spec.Compose.Host, spec.Compose.Context)
	if err != nil {
		return ctx.Err()
	}
	service := readService(ctx, d, spec)
	if service.err != nil {
		return ctx.Err()
	}
	return l.Fetched.fetch(ctx, d, service.image, service.pull, l.Progress, made)
}

// fetch brings an image to the daemon as pull says, unless somebody else makes it.
func (f *Fetched) fetch(ctx context.Context, d *Daemon, ref, pull string, progress func(Progress), made func(string) string) error {
	if ref == "" || pull == "never" {
		return nil
	}
	maker := made(ref)
	if maker == "" {
		_, err := f.image(ctx, d, ref, pull, progress)
		return err
	}
	_, err := d.ImageInspect(ctx, ref)
	if cerrdefs.IsNotFound(err) {
		err = fmt.Errorf("image %q is not on the docker daemon %s, and is not pulled since %s makes it: "+
			"put that step into a phase of its own, which the phases that need the image come after", ref, d.Name, maker)
	}
	return f.keep(ctx, d, ref, pull, err)
}

// image is Daemon.Image without a second question to the registry.
func (f *Fetched) image(ctx context.Context, d *Daemon, ref, pull string, progress func(Progress)) (image.InspectResponse, error) {
	if f == nil || pull == "never" {
		return d.Image(ctx, ref, pull, progress)
	}
	f.mu.Lock()
	failed, asked := f.by[f.key(d, ref, pull)]
	f.mu.Unlock()
	switch {
	case asked && failed == nil:
		pull = "missing"
	case asked && pull == "always":
		return image.InspectResponse{}, failed
	case asked:
		// A step may have made it since.
		if info, err := d.ImageInspect(ctx, ref); !cerrdefs.IsNotFound(err) {
			return info, err
		}
		return image.InspectResponse{}, failed
	}
	info, err := d.Image(ctx, ref, pull, progress)
	forget(d, ref)
	if asked {
		return info, err
	}
	return info, f.keep(ctx, d, ref, pull, err)
}

// keep remembers how a fetch went, unless it was cancelled.
func (f *Fetched) keep(ctx context.Context, d *Daemon, ref, pull string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f == nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]error{}
	}
	f.by[f.key(d, ref, pull)] = err
	return err
}

func (*Fetched) key(d *Daemon, ref, pull string) string {
	return strings.Join([]string{d.Name, ref, pull}, " ")
}

// SameImage reports whether two names stand for one image: a tag that is left out
// is latest.
func SameImage(a, b string) bool { return fullName(a) == fullName(b) }

func fullName(ref string) string {
	if _, digest, ok := strings.Cut(ref, "@"); ok {
		return repository(ref) + "@" + digest
	}
	tag := "latest"
	if colon := strings.LastIndexByte(ref, ':'); colon > strings.LastIndexByte(ref, '/') {
		tag = ref[colon+1:]
	}
	return repository(ref) + ":" + tag
}
