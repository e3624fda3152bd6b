package docker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

// ComposeLauncher starts engines that are a service of a compose file, with docker
// compose or docker-compose. The zero value is ready to use.
//
// Every launch is its own project, so it neither collides with nor ends what already runs
// from the same file. What mxflow needs besides the file (labels, environment, flags, a
// published port) is in a second file that overrides it. Once the service's container
// runs it is followed like any container.
type ComposeLauncher Launcher

var _ interface {
	engine.Launcher
	engine.Identifier
} = ComposeLauncher{}

// Launch implements engine.Launcher.
func (l ComposeLauncher) Launch(ctx context.Context, spec engine.Spec, launch engine.Launch) (engine.Instance, error) {
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	if failure := launch.Check(); failure != nil {
		return nil, failure
	}
	inst, err := l.launch(ctx, spec, kind, launch)
	if err == nil {
		return inst, nil
	}
	var f *engine.Failure
	if !errors.As(err, &f) {
		f = engine.StartFailure(err, "%v", err)
	}
	return nil, f
}

func (l ComposeLauncher) launch(ctx context.Context, spec engine.Spec, kind kinds.Kind, launch engine.Launch) (*composeInstance, error) {
	d, err := Connect(ctx)
	if err != nil {
		return nil, err
	}
	p, err := newProject(ctx, d, spec, launch)
	if err != nil {
		return nil, err
	}
	defer p.forget()
	if l.Remember != nil {
		if err := l.Remember(d); err != nil {
			return nil, fmt.Errorf("cannot record that daemon %s is in use: %w", d.Name, err)
		}
	}
	// Its image is pulled here, not by compose, which would do so invisibly and, if the
	// file says always, at every launch.
	if image, pull := p.image(); image != "" && pull != "never" {
		if _, err := l.Fetched.image(ctx, d, image, pull, l.Progress); err != nil {
			return nil, err
		}
	}
	// The service in terms of the docker launcher, which handles ports and environments.
	box := spec
	box.Docker = &engine.Docker{Port: spec.Compose.Port, Network: p.service().NetworkMode}
	if spec.Compose.Port == 0 && kind.Port == 0 && len(kind.Ready) > 0 && !takesPort(box) {
		return nil, errors.New("the port of the service is unknown: set port in the compose block, or put {port} into its command")
	}
	at, err := d.portsFor(ctx, box, kind)
	if err != nil {
		return nil, err
	}
	inst, err := l.start(ctx, p, box, kind, at)
	if err != nil {
		at.release()
		_ = p.down(spec.StopGrace)
		return nil, err
	}
	return inst, nil
}

// start brings the service up and starts following it.
func (l ComposeLauncher) start(ctx context.Context, p *project, spec engine.Spec, kind kinds.Kind, at *ports) (*composeInstance, error) {
	if err := p.override(ctx, spec, at); err != nil {
		return nil, err
	}
	if err := p.putConfig(ctx, spec); err != nil {
		return nil, err
	}
	to, failure := openOutput(p.launch, l.LogLimit)
	if failure != nil {
		return nil, failure
	}
	inst, err := l.watch(ctx, p, spec, kind, at, to)
	if err != nil {
		to.close()
	}
	return inst, err
}

func (l ComposeLauncher) watch(ctx context.Context, p *project, spec engine.Spec, kind kinds.Kind, at *ports, to output) (*composeInstance, error) {
	began := time.Now()
	if _, err := p.compose(ctx, "up", "--detach", "--no-recreate", spec.Compose.Service); err != nil {
		return nil, err
	}
	made, err := p.container(ctx)
	if err != nil {
		return nil, err
	}
	running, err := p.d.ContainerInspect(ctx, made.ID)
	if err == nil {
		err = at.published(running)
	}
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(running.Name, "/")
	c := watch(p.d, made.ID, name, running.Config.Tty, to, nil)
	c.Keep = true // it goes with its project
	c.Started = startOf(p.d, running, began)
	return &composeInstance{project: p, instance: &instance{
		Container: c,
		serving: serving{spec: spec, kind: kind, at: at, about: map[string]string{
			"container": name, "docker": p.d.Name, "compose_file": spec.Compose.File, "compose_service": spec.Compose.Service,
			"compose_project": p.name, "compose_command": strings.Join(p.argv, " "), "image": running.Config.Image, "image_id": running.Image,
			"resolved_command": strings.Join(append([]string{running.Path}, running.Args...), " "),
		}},
	}}, nil
}

// startOf is when the container started, after the services that it depends on. The
// daemon's clock is used if it is this machine's.
func startOf(d *Daemon, running container.InspectResponse, began time.Time) time.Time {
	if !d.Local() || running.State == nil {
		return began
	}
	at, err := time.Parse(time.RFC3339Nano, running.State.StartedAt)
	if err != nil || at.Before(began) || at.After(time.Now()) {
		return began
	}
	return at
}

// composeInstance is an engine that is a service of a compose project.
type composeInstance struct {
	*instance
	project *project
	stopper engine.Stopper
}

// Stop implements engine.Instance: the engine ends first, then the rest of its
// project. Volumes stay.
func (c *composeInstance) Stop(ctx context.Context) error {
	return c.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		stopping, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-hurry:
				cancel()
			case <-stopping.Done():
			}
		}()
		if err := c.instance.Stop(stopping); err != nil {
			return err
		}
		grace := c.spec.StopGrace
		if stopping.Err() != nil {
			grace = 0
		}
		if err := c.project.down(grace); err != nil {
			return c.Failure("stop", err, "cannot remove its compose project %s: %v", c.project.name, err)
		}
		return nil
	})
}

// Identify implements engine.Identifier: the file as compose reads it, with its variables
// and included files, and the image of the service.
func (ComposeLauncher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	if spec.Compose == nil {
		return "missing", errors.New("the plan has no compose block for it")
	}
	d, err := Connect(ctx)
	if err != nil {
		return "missing", err
	}
	service := readService(ctx, d, spec)
	if service.err != nil {
		return "missing" + elsewhere(), service.err
	}
	is := service.file
	if service.image == "" {
		is += ", image to be built"
	} else {
		var id string
		id, err = ImageIdentity(ctx, service.image)
		is += ", image " + id
	}
	return is + elsewhere(), err
}

// keepService is how long the reading of a service stays valid: compose takes about a
// second to read a file, and every node of a plan asks.
const keepService = 5 * time.Second

// serviceRead is compose's reading of a file, and the image of the service.
type serviceRead struct {
	file, image, pull string
	err               error
	until             time.Time
}

var servicesRead = struct {
	sync.Mutex
	by map[string]serviceRead
}{by: map[string]serviceRead{}}

// readService has compose read the file of a service, unless it just did.
func readService(ctx context.Context, d *Daemon, spec engine.Spec) serviceRead {
	key := fmt.Sprintf("%s %+v", d.Name, *spec.Compose)
	servicesRead.Lock()
	defer servicesRead.Unlock()
	if known, ok := servicesRead.by[key]; ok && time.Now().Before(known.until) {
		return known
	}
	var read serviceRead
	if read.err = read.from(ctx, d, spec); ctx.Err() == nil {
		read.until = time.Now().Add(keepService)
		servicesRead.by[key] = read
	}
	return read
}

func (r *serviceRead) from(ctx context.Context, d *Daemon, spec engine.Spec) error {
	dir, err := os.MkdirTemp("", "mxflow-compose")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The ID is for this reading only: what carries it ends with the reading.
	p, err := readProject(ctx, d, spec, engine.Launch{ID: "identify-" + rand.Text(), Owner: "mxflow", LogPath: filepath.Join(dir, "log")})
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(p.text))
	r.file = "file " + hex.EncodeToString(sum[:16])
	r.image, r.pull = p.image()
	return nil
}

// anonymous matches the daemon's names for volumes without one.
var anonymous = regexp.MustCompile(`^[0-9a-f]{64}$`)

// removeProject removes the containers and networks with a label.
func (d *Daemon) removeProject(ctx context.Context, with filters.Args) error {
	made, err := d.ContainerList(ctx, container.ListOptions{All: true, Filters: with})
	wrong := []error{err}
	for _, c := range made {
		wrong = append(wrong, d.removeContainer(ctx, c.ID))
	}
	nets, err := d.NetworkList(ctx, network.ListOptions{Filters: with})
	wrong = append(wrong, err)
	for _, n := range nets {
		wrong = append(wrong, d.NetworkRemove(ctx, n.ID))
	}
	return errors.Join(wrong...)
}

// sweepNetworks removes the networks that compose projects of a dead mxflow left, by the
// same labels as Sweep, which removes their containers first.
func sweepNetworks(ctx context.Context, d *Daemon, owner string, before time.Time) error {
	nets, err := d.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", LabelOwner+"="+owner))})
	wrong := []error{err}
	for _, n := range nets {
		if _, ok := ours(n.Labels, owner, before); !ok {
			continue
		}
		if err := d.NetworkRemove(ctx, n.ID); err != nil {
			wrong = append(wrong, fmt.Errorf("docker daemon %s: cannot remove network %s, left by an earlier run: %w", d.Name, n.Name, err))
		}
	}
	return errors.Join(wrong...)
}
