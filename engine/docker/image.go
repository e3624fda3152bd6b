package docker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errhttp"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

// digestOf is a registry's digest of the image under that name, empty for one that was
// built on the daemon and never pushed.
func digestOf(is image.InspectResponse, ref string) string {
	for _, known := range is.RepoDigests {
		if name, digest, ok := strings.Cut(known, "@"); ok && kinds.Repository(name) == kinds.Repository(ref) {
			return digest
		}
	}
	return ""
}

// SameImage reports whether two names refer to one image: a missing tag is latest.
func SameImage(a, b string) bool {
	tag := func(ref string) string {
		if _, digest, ok := strings.Cut(ref, "@"); ok {
			return digest
		}
		if colon := strings.LastIndexByte(ref, ':'); colon > strings.LastIndexByte(ref, '/') {
			return ref[colon+1:]
		}
		return "latest"
	}
	return kinds.Repository(a) == kinds.Repository(b) && tag(a) == tag(b)
}

// Images brings images to the daemon for one apply: a registry is asked once for each, so
// all launches use the same one, and an unreachable registry is waited for once. The zero
// value is ready to use; nil asks on every use.
type Images struct {
	// Pulling is called before an image is pulled, and every minute while it is, with
	// how many of how many bytes have come; may be nil.
	Pulling func(image string, done, size int64)

	mu sync.Mutex
	// asked has the result of each pull, by name and policy; composed the result of
	// compose for a file, by its block and state.
	asked    map[string]error
	composed map[string]string
}

// needed is what an engine starts from: an image and when to pull it, which is empty if
// compose builds one without a name, and the project of a compose file.
type needed struct {
	ref, pull string
	project   *project
}

func (m *Images) needed(ctx context.Context, spec engine.Spec) (is needed, err error) {
	if spec.Compose != nil {
		if is.project, err = m.read(ctx, spec); err == nil {
			is.ref, is.pull = is.project.image()
		}
		return is, err
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return is, failure
	}
	if spec.Docker != nil {
		is.ref, is.pull = cmp.Or(spec.Docker.Image, kind.Image), spec.Docker.Pull
	}
	if is.ref == "" {
		return is, errors.New("the image is missing: set image in the docker block")
	}
	return is, nil
}

// get finds an image on the daemon, and pulls it according to pull: "missing" (or empty),
// "always" or "never".
func (m *Images) get(ctx context.Context, d *daemon, ref, pull string) (image.InspectResponse, error) {
	if m == nil {
		m = &Images{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	failed, asked := m.asked[ref+" "+pull]
	if pull == "always" && !asked {
		if failed = m.pull(ctx, d, ref); failed != nil {
			if _, err := d.inspectImage(ctx, ref); err == nil {
				failed = fmt.Errorf(
					`%w; the daemon has an image of that name, and pull = "always" asks for a newer one: `+
						`set pull = "missing" to use it`, failed)
			}
		}
		m.note(ctx, ref, pull, failed)
	}
	if pull == "always" && failed != nil {
		return image.InspectResponse{}, failed
	}
	is, err := d.inspectImage(ctx, ref)
	switch {
	case !isMissing(err):
		return is, err
	case pull == "never":
		return is, fmt.Errorf(`image %q is not on the docker daemon %s, and pull = "never" forbids pulling it: `+
			`build or pull it there, correct its name, or set pull = "missing"%w`, ref, d.host, quiet{err})
	case failed != nil:
		return is, failed
	}
	err = m.pull(ctx, d, ref)
	if m.note(ctx, ref, pull, err); err == nil {
		is, err = d.inspectImage(ctx, ref)
	}
	return is, err
}

// note remembers what came of asking for an image, unless that was cancelled.
func (m *Images) note(ctx context.Context, ref, pull string, err error) {
	if m.asked == nil {
		m.asked = map[string]error{}
	}
	if ctx.Err() == nil {
		m.asked[ref+" "+pull] = err
	}
}

// pullEvery is how often the progress of a pull is told.
var pullEvery = time.Minute

func (m *Images) pull(ctx context.Context, d *daemon, ref string) error {
	tell := m.Pulling
	if tell == nil {
		tell = func(string, int64, int64) {}
	}
	login, registry, err := loginFor(ctx, ref)
	if err != nil {
		return err
	}
	tell(ref, 0, 0)
	begun := false
	_, err = ask(ctx, d, pullLimit, func(ctx context.Context) (struct{}, error) {
		messages, err := d.ImagePull(ctx, ref, image.PullOptions{RegistryAuth: login})
		if err != nil {
			return struct{}{}, err
		}
		defer messages.Close()
		begun = true
		return struct{}{}, pulled(messages, func(done, size int64) { tell(ref, done, size) })
	})
	if err == nil || errors.Is(err, ErrUnreachable) || ctx.Err() != nil {
		return err
	}
	hint := "its registry cannot be reached from there: use docker load or docker build, or fix the network"
	switch {
	case errdefs.IsUnauthorized(err), errdefs.IsPermissionDenied(err):
		hint = "its registry requires a login: run docker login " + registry
	case isMissing(err):
		hint = "its registry has no such image or tag, or requires a login: correct the name, or run docker login " +
			registry
	case begun:
		hint = "see the daemon's message"
	case login == "":
		hint += "; if it requires a login, run docker login " + registry
	}
	return fmt.Errorf("cannot pull image %q to the docker daemon %s: %s (%w)", ref, d.host, hint, err)
}

// pulled reads the daemon's messages of a pull to their end, and tells from time to time
// how many bytes of the layers announced so far have come.
func pulled(messages io.Reader, tell func(done, size int64)) error {
	type layer struct{ Current, Total int64 }
	layers := map[string]layer{}
	var all layer
	told := time.Now()
	for lines := json.NewDecoder(messages); ; {
		var m struct {
			ID       string `json:"id"`
			Progress layer  `json:"progressDetail"`
			Error    *struct {
				Code    int
				Message string
			} `json:"errorDetail"`
		}
		switch err := lines.Decode(&m); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case m.Error != nil:
			class := errhttp.ToNative(m.Error.Code)
			return fmt.Errorf("%s%w", m.Error.Message, quiet{errors.Join(class)})
		}
		// Layers are downloaded, then unpacked: the second counts from 0 again.
		if was := layers[m.ID]; m.Progress.Total > 0 && m.Progress.Current >= was.Current {
			all.Current, all.Total = all.Current+m.Progress.Current-was.Current, all.Total+m.Progress.Total-was.Total
			layers[m.ID] = m.Progress
		}
		if time.Since(told) >= pullEvery {
			told = time.Now()
			tell(all.Current, all.Total)
		}
	}
}

// Fetch implements engine.Fetcher. An image that a step of the plan builds must be there,
// and one that compose builds need not.
func (l Launcher) Fetch(ctx context.Context, spec engine.Spec, made func(image string) string) error {
	if spec.Exec != nil {
		return nil
	}
	is, err := l.Images.needed(ctx, spec)
	if err != nil || is.ref == "" || is.pull == "never" {
		return ctx.Err() // Launch reports the error
	}
	d, err := dial()
	if err != nil {
		return ctx.Err()
	}
	maker := made(is.ref)
	if maker == "" {
		_, err = l.Images.get(ctx, d, is.ref, is.pull)
	} else if _, err = d.inspectImage(ctx, is.ref); isMissing(err) {
		err = fmt.Errorf("image %q is not on the docker daemon %s, and is not pulled because %s builds it: "+
			"put that step into an earlier phase than the engines that need the image", is.ref, d.host, maker)
	}
	if errors.Is(err, ErrUnreachable) {
		return ctx.Err()
	}
	if m := l.Images; m != nil && maker != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.note(ctx, is.ref, is.pull, err)
	}
	return err
}

// identifyLimit bounds the query which image a name refers to: viewing a plan must not
// wait for a daemon that does not answer.
const identifyLimit = 10 * time.Second

// Identify implements engine.Identifier: the digest of the image, or its ID if it was
// built on the daemon and no registry knows it; for a service also the compose file as
// compose reads it, with its variables and included files. If it does not exist, or no
// daemon answers, it is "missing", and the error is why.
func (l Launcher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	if spec.Exec != nil { // later changes in the container are not seen
		d, err := dial()
		if err != nil {
			return "missing", err
		}
		of, err := d.running(ctx, spec.Exec.Container)
		if err != nil {
			return "missing", err
		}
		return of.Image, nil
	}
	if _, err := dial(); err != nil {
		return "missing", err
	}
	is, err := l.Images.needed(ctx, spec)
	switch {
	case err != nil:
		return "missing", err
	case is.project == nil:
		return ImageIdentity(ctx, is.ref)
	case is.ref == "":
		return is.project.digest() + ", image to be built", nil
	}
	id, err := ImageIdentity(ctx, is.ref)
	return is.project.digest() + ", image " + id, err
}

// ImageIdentity is what an image name refers to now on the daemon: its digest, else its
// ID, or "missing" and why.
func ImageIdentity(ctx context.Context, ref string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	d, err := dial()
	if err != nil {
		return "missing", err
	}
	is, err := d.inspectImage(ctx, ref)
	switch {
	case isMissing(err):
		return "missing", fmt.Errorf("image %q is not on the docker daemon %s", ref, d.host)
	case err != nil:
		return "missing", err
	}
	return cmp.Or(digestOf(is, ref), is.ID), nil
}

// ImageID is the ID of the image that a tag names now, empty if there is none.
func ImageID(ctx context.Context, tag string) (string, error) {
	d, err := dial()
	if err != nil {
		return "", err
	}
	is, err := d.inspectImage(ctx, tag)
	if isMissing(err) {
		return "", nil
	}
	return is.ID, err
}

// Now is the image that a name refers to now, as a name that always does: by digest, or by its ID if no
// registry knows it. Its registry is asked, and a newer image pulled, unless pull is "never".
func (m *Images) Now(ctx context.Context, ref, pull string) (string, error) {
	d, err := dial()
	if err != nil {
		return "", err
	}
	is, err := m.get(ctx, d, ref, pull)
	if err != nil {
		return "", err
	}
	if digest := digestOf(is, ref); digest != "" {
		return kinds.Untagged(ref) + "@" + digest, nil
	}
	return is.ID, nil
}
