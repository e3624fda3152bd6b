package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
)

// Progress is how far the pull of an image is.
type Progress struct {
	Image string
	// Status is the daemon's word for what it does now.
	Status string
	// Done and Total are the bytes of all layers whose size is known so far.
	Done, Total int64
}

// Image finds an image on the daemon, and pulls it as pull says: "missing" (or
// empty), "always" or "never". progress may be nil. The errors teach.
func (d *Daemon) Image(ctx context.Context, ref, pull string, progress func(Progress)) (image.InspectResponse, error) {
	if pull == "always" {
		if err := d.pull(ctx, ref, progress); err != nil {
			return image.InspectResponse{}, d.alsoThere(ctx, ref, err)
		}
	}
	info, err := d.ImageInspect(ctx, ref)
	switch {
	case err == nil:
		return info, nil
	case !cerrdefs.IsNotFound(err):
		return info, fmt.Errorf("image %q cannot be looked at: %w", ref, err)
	case pull == "never":
		return info, fmt.Errorf(`image %q is not on the docker daemon %s, and pull = "never" forbids to fetch it: `+
			`build or pull it there, correct its name, or set pull = "missing"%w`, ref, d.Name, quiet{err})
	}
	if err := d.pull(ctx, ref, progress); err != nil {
		return info, err
	}
	if info, err = d.ImageInspect(ctx, ref); err != nil {
		return info, fmt.Errorf("image %q was pulled and cannot be found: %w", ref, err)
	}
	return info, nil
}

// pullMessage is one line of what the daemon says while it pulls.
type pullMessage struct {
	ID             string `json:"id"`
	Status         string `json:"status"`
	Error          string `json:"error"`
	ProgressDetail struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
}

func (d *Daemon) pull(ctx context.Context, ref string, progress func(Progress)) error {
	auth, err := registryAuth(ctx, ref)
	if err != nil {
		return err
	}
	stream, err := d.ImagePull(ctx, ref, image.PullOptions{RegistryAuth: auth})
	if err != nil {
		return explainPull(d, ref, err)
	}
	defer stream.Close()
	done, total := map[string]int64{}, map[string]int64{}
	for dec := json.NewDecoder(stream); ; {
		var m pullMessage
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the pull of image %q broke off: %w", ref, err)
		}
		if m.Error != "" {
			return explainPull(d, ref, errors.New(m.Error))
		}
		if m.ProgressDetail.Total > 0 && m.Status == "Downloading" {
			done[m.ID], total[m.ID] = m.ProgressDetail.Current, m.ProgressDetail.Total
		}
		if m.Status == "Download complete" {
			done[m.ID] = total[m.ID]
		}
		if progress != nil {
			progress(Progress{Image: ref, Status: m.Status, Done: sum(done), Total: sum(total)})
		}
	}
}

func sum(by map[string]int64) (total int64) {
	for _, n := range by {
		total += n
	}
	return total
}

// explainPull says what a daemon's refusal to pull usually means.
func explainPull(d *Daemon, ref string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the pull of image %q was cancelled: %w", ref, err)
	}
	text := err.Error()
	var hint string
	switch {
	case strings.Contains(text, "manifest unknown"), strings.Contains(text, "not found: manifest"):
		hint = "its registry has no such tag: correct the name"
	case strings.Contains(text, "pull access denied"), strings.Contains(text, "unauthorized"),
		strings.Contains(text, "authentication required"), strings.Contains(text, "denied"):
		hint = "its registry has no such image, or wants a login: correct the name, or run docker login"
	case strings.Contains(text, "no basic auth"):
		hint = "its registry wants a login: run docker login"
	case strings.Contains(text, "no such host"), strings.Contains(text, "dial tcp"), strings.Contains(text, "Client.Timeout"),
		strings.Contains(text, "request canceled"), strings.Contains(text, "connection refused"), strings.Contains(text, "i/o timeout"):
		hint = "its registry cannot be reached from there: bring the image with docker load or docker build, or mend the network"
	default:
		hint = "see the daemon's message"
	}
	return fmt.Errorf("image %q cannot be pulled to the docker daemon %s: %s (%w)", ref, d.Name, hint, err)
}

// alsoThere adds to a failed pull that the daemon has the image, where it has.
func (d *Daemon) alsoThere(ctx context.Context, ref string, failed error) error {
	if _, err := d.ImageInspect(ctx, ref); err != nil {
		return failed
	}
	return fmt.Errorf(`%w; the daemon has an image of that name, and pull = "always" asks for a newer one: set pull = "missing" to use it`, failed)
}

// digestOf is the digest by which a registry knows an image of that name, empty
// for one that was built on the daemon and never pushed.
func digestOf(ref string, info image.InspectResponse) string {
	want := repository(ref)
	for _, known := range info.RepoDigests {
		if name, digest, ok := strings.Cut(known, "@"); ok && repository(name) == want {
			return digest
		}
	}
	return ""
}

// repository is the name of an image without tag and digest, in full:
// "docker.io/library/busybox" for "busybox:1".
func repository(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if colon := strings.LastIndexByte(ref, ':'); colon > strings.LastIndexByte(ref, '/') {
		ref = ref[:colon]
	}
	first, _, nested := strings.Cut(ref, "/")
	switch {
	case !nested:
		return "docker.io/library/" + ref
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io/" + ref
	}
	return strings.Replace(ref, "index.docker.io/", "docker.io/", 1)
}
