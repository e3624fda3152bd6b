package docker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine"
)

// Progress is the progress of an image pull.
type Progress struct {
	Image string
	// Status is the daemon's word for its present activity.
	Status string
	// Done and Total are the bytes of all layers whose size is known so far.
	Done, Total int64
}

// Image finds an image on the daemon, and pulls it according to pull: "missing" (or
// empty), "always" or "never". progress may be nil.
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
		return info, fmt.Errorf("cannot inspect image %q: %w", ref, err)
	case pull == "never":
		return info, fmt.Errorf(`image %q is not on the docker daemon %s, and pull = "never" forbids pulling it: `+
			`build or pull it there, correct its name, or set pull = "missing"%w`, ref, d.Name, quiet{err})
	}
	if err := d.pull(ctx, ref, progress); err != nil {
		return info, err
	}
	if info, err = d.ImageInspect(ctx, ref); err != nil {
		return info, fmt.Errorf("image %q was pulled but cannot be found: %w", ref, err)
	}
	return info, nil
}

// pullMessage is one line of the daemon's output during a pull.
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

// pullRefusals are daemons' messages for failed pulls, and what to do. The first match
// counts.
var pullRefusals = []struct {
	says *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`manifest unknown|not found: manifest`), "its registry has no such tag: correct the name"},
	{regexp.MustCompile(`denied|unauthorized|authentication required`), "its registry has no such image, or requires a login: correct the name, or run docker login"},
	{regexp.MustCompile(`no basic auth`), "its registry requires a login: run docker login"},
	{
		regexp.MustCompile(`no such host|dial tcp|Client\.Timeout|request canceled|connection refused|i/o timeout`),
		"its registry cannot be reached from there: use docker load or docker build, or fix the network",
	},
	{regexp.MustCompile(``), "see the daemon's message"},
}

// explainPull explains a daemon's refusal to pull.
func explainPull(d *Daemon, ref string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the pull of image %q was cancelled: %w", ref, err)
	}
	for _, r := range pullRefusals {
		if r.says.MatchString(err.Error()) {
			return fmt.Errorf("cannot pull image %q to the docker daemon %s: %s (%w)", ref, d.Name, r.hint, err)
		}
	}
	return err
}

// alsoThere adds to a failed pull that the daemon has the image, if it does.
func (d *Daemon) alsoThere(ctx context.Context, ref string, failed error) error {
	if _, err := d.ImageInspect(ctx, ref); err != nil {
		return failed
	}
	return fmt.Errorf(`%w; the daemon has an image of that name, and pull = "always" asks for a newer one: set pull = "missing" to use it`, failed)
}

// digestOf is a registry's digest of an image with that name, empty for one that was
// built on the daemon and never pushed.
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

// FetchMemo caches one apply's requests to registries: each image is requested once, so
// all its launches use the same one, and an unreachable registry is waited for once. The
// zero value is ready to use; nil requests on every use.
type FetchMemo struct {
	mu sync.Mutex
	// by has the results, by daemon, image and policy.
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
		return nil // Launch reports the error
	}
	d, err := Connect(ctx)
	if err != nil {
		return ctx.Err()
	}
	return l.Fetched.fetch(ctx, d, imageOf(spec, kind), spec.Docker.Pull, l.Progress, made)
}

// Fetch implements engine.Fetcher: it pulls the service's image, unless compose builds
// it.
func (l ComposeLauncher) Fetch(ctx context.Context, spec engine.Spec, made func(image string) string) error {
	if spec.Compose == nil {
		return nil
	}
	d, err := Connect(ctx)
	if err != nil {
		return ctx.Err()
	}
	service := readService(ctx, d, spec)
	if service.err != nil {
		return ctx.Err()
	}
	return l.Fetched.fetch(ctx, d, service.image, service.pull, l.Progress, made)
}

// fetch brings an image to the daemon according to pull, unless a step of the plan builds
// it.
func (f *FetchMemo) fetch(ctx context.Context, d *Daemon, ref, pull string, progress func(Progress), made func(string) string) error {
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
		err = fmt.Errorf("image %q is not on the docker daemon %s, and is not pulled because %s builds it: "+
			"put that step into an earlier phase than the engines that need the image", ref, d.Name, maker)
	}
	return f.keep(ctx, d, ref, pull, err)
}

// image is Daemon.Image without a second request to the registry.
func (f *FetchMemo) image(ctx context.Context, d *Daemon, ref, pull string, progress func(Progress)) (image.InspectResponse, error) {
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
	if asked {
		return info, err
	}
	return info, f.keep(ctx, d, ref, pull, err)
}

// keep caches the result of a fetch, unless it was cancelled.
func (f *FetchMemo) keep(ctx context.Context, d *Daemon, ref, pull string, err error) error {
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

func (*FetchMemo) key(d *Daemon, ref, pull string) string {
	return strings.Join([]string{d.Name, ref, pull}, " ")
}

// SameImage reports whether two names refer to one image: a missing tag is latest.
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

// identifyLimit bounds the query which image a name refers to: viewing a plan must not wait
// for an unreachable daemon.
const identifyLimit = 3 * time.Second

// Identify implements engine.Identifier: the digest of the image, or its ID if it was
// built on the daemon and no registry knows it. If it does not exist, or no daemon
// answers, it is "missing", and the error is why.
func (l Launcher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	kind, failure := spec.Prepare()
	if failure != nil {
		return "missing", failure
	}
	if spec.Docker == nil || imageOf(spec, kind) == "" {
		return "missing", fmt.Errorf("engine kind %q: the image is missing", spec.Kind)
	}
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	is, err := ImageIdentity(ctx, imageOf(spec, kind))
	return is + elsewhere(), err
}

// elsewhere names a daemon reached over a network, as the same image on another machine
// is measured again. It is empty for this machine's.
func elsewhere() string {
	if schemeOf(address()) != "tcp" {
		return ""
	}
	return " on " + address()
}

// ImageIdentity is what an image name refers to now on the daemon: its digest, else its
// ID, or "missing" and why.
func ImageIdentity(ctx context.Context, ref string) (string, error) {
	d, err := Connect(ctx)
	if err != nil {
		return "missing", err
	}
	info, err := d.ImageInspect(ctx, ref)
	switch {
	case cerrdefs.IsNotFound(err):
		return "missing", fmt.Errorf("image %q is not on the docker daemon %s", ref, d.Name)
	case err != nil:
		return "missing", fmt.Errorf("cannot inspect image %q: %w", ref, err)
	}
	return cmp.Or(digestOf(ref, info), info.ID), nil
}

// dockerHub is what the docker command calls Docker Hub in its configuration.
const dockerHub = "https://index.docker.io/v1/"

// logins is the part of the docker command's config.json that holds logins.
type logins struct {
	Auths map[string]struct {
		Auth          string
		IdentityToken string
	}
	CredsStore  string
	CredHelpers map[string]string
}

// configDir is the folder of the docker command's configuration.
func configDir() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".docker"
	}
	return filepath.Join(home, ".docker")
}

// registryAuth is the `docker login` for an image's registry, in the form of the
// X-Registry-Auth header; empty if there is none.
func registryAuth(ctx context.Context, ref string) (string, error) {
	path := filepath.Join(configDir(), "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var config logins
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the docker configuration %s: %w", path, err)
	}
	registry, _, _ := strings.Cut(repository(ref), "/")
	if registry == "docker.io" {
		registry = dockerHub
	}
	login := map[string]string{"serveraddress": registry}
	helper := config.CredHelpers[registry]
	if helper == "" {
		helper = config.CredsStore
	}
	switch auth, stored := config.Auths[registry]; {
	case helper != "":
		if err := askHelper(ctx, helper, registry, login); err != nil {
			return "", err
		}
	case stored && auth.IdentityToken != "":
		login["identitytoken"] = auth.IdentityToken
	case stored && auth.Auth != "":
		pair, err := base64.StdEncoding.DecodeString(auth.Auth)
		user, password, ok := strings.Cut(string(pair), ":")
		if err != nil || !ok {
			return "", fmt.Errorf("cannot read the login for %s in %s: run docker login again", registry, path)
		}
		login["username"], login["password"] = user, password
	}
	if len(login) == 1 {
		return "", nil
	}
	header, err := json.Marshal(login)
	return base64.URLEncoding.EncodeToString(header), err
}

// askHelper asks the credential helper. If it has none, login stays unchanged: the image
// may be public.
func askHelper(ctx context.Context, helper, registry string, login map[string]string) error {
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(registry)
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("the docker configuration keeps logins with docker-credential-%s, which is not installed: install it, or remove it from %s",
			helper, filepath.Join(configDir(), "config.json"))
	}
	if err != nil || bytes.Contains(out, []byte("credentials not found")) {
		return nil
	}
	var said struct{ Username, Secret string }
	if err := json.Unmarshal(out, &said); err != nil {
		return fmt.Errorf("docker-credential-%s printed no readable login: %w", helper, err)
	}
	if said.Username == "<token>" {
		login["identitytoken"] = said.Secret
	} else {
		login["username"], login["password"] = said.Username, said.Secret
	}
	return nil
}
