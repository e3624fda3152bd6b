package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// Launcher starts engines in containers of their own. The zero value is ready
// to use.
//
// The engine listens inside the container on a port of its own, which the daemon
// publishes where mxflow alone can reach it. An init process reaps what the
// engine leaves behind, and the container is never restarted: an engine that
// ended has ended.
type Launcher struct {
	// LogLimit bounds the log file, in bytes; zero means 256 MiB.
	LogLimit int64
	// Progress hears of the pull of an image; nil is nobody.
	Progress func(Progress)
	// Fetched keeps the launches of one apply from asking a registry again; nil
	// lets each of them ask.
	Fetched *Fetched
	// Remember is told of a daemon before anything is started there, so that
	// leftovers can be looked for; nil where nobody does.
	Remember func(*Daemon) error
}

var _ interface {
	engine.Launcher
	engine.Identifier
} = Launcher{}

// Launch implements engine.Launcher.
func (l Launcher) Launch(ctx context.Context, spec engine.Spec, launch engine.Launch) (engine.Instance, error) {
	inst, failure := l.launch(ctx, spec, launch)
	if failure != nil {
		failure.Op = "start"
		return nil, failure
	}
	return inst, nil
}

func (l Launcher) launch(ctx context.Context, spec engine.Spec, launch engine.Launch) (*instance, *engine.Failure) {
	if err := ctx.Err(); err != nil {
		return nil, failed(err, "it was cancelled before it began")
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	if launch.ID == "" || launch.Owner == "" {
		return nil, failed(nil, "the launch has no ID or no owner, by which its container is found again")
	}
	if spec.Docker == nil {
		return nil, failed(nil, "the plan has no docker block for it")
	}
	ref := imageOf(spec, kind)
	if ref == "" {
		return nil, failed(nil, "no image is named: set image in the docker block")
	}
	d, err := Connect(ctx, spec.Docker.Host, spec.Docker.Context)
	if err != nil {
		return nil, failed(err, "%v", err)
	}
	if l.Remember != nil {
		if err := l.Remember(d); err != nil {
			return nil, failed(err, "the daemon %s cannot be noted as used: %v", d.Name, err)
		}
	}
	info, err := l.Fetched.image(ctx, d, ref, spec.Docker.Pull, l.Progress)
	forget(d, ref)
	if err != nil {
		return nil, failed(err, "%v", err)
	}
	at, err := d.portsFor(ctx, spec, kind)
	if err != nil {
		return nil, failed(err, "%v", err)
	}
	inst, failure := l.start(ctx, d, spec, kind, launch, info, at)
	if failure != nil {
		at.release()
	}
	return inst, failure
}

// start makes the container and lets it run; what it made is gone again where it
// fails.
func (l Launcher) start(ctx context.Context, d *Daemon, spec engine.Spec, kind kinds.Kind, launch engine.Launch,
	info image.InspectResponse, at *ports,
) (*instance, *engine.Failure) {
	ref := imageOf(spec, kind)
	config, host, err := containerOf(spec, launch, ref, at)
	if err != nil {
		return nil, failed(err, "%v", err)
	}
	name := containerName(launch.ID)
	created, err := d.ContainerCreate(ctx, config, host, nil, nil, name)
	if err != nil {
		return nil, d.startFailed(err)
	}
	inst, failure := l.run(ctx, d, spec, kind, launch, created.ID, name, at)
	if failure != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
		defer cancel()
		if err := d.removeContainer(cleaning, created.ID); err != nil {
			failure.Reason += fmt.Sprintf("; its container %s is left there: %v", name, err)
		}
		return nil, failure
	}
	inst.about["image"], inst.about["image_id"] = ref, info.ID
	if digest := digestOf(ref, info); digest != "" {
		inst.about["image_digest"] = digest
	}
	return inst, nil
}

// run starts a created container and begins to follow it.
func (l Launcher) run(ctx context.Context, d *Daemon, spec engine.Spec, kind kinds.Kind, launch engine.Launch, id, name string, at *ports) (*instance, *engine.Failure) {
	if err := d.putConfig(ctx, id, spec); err != nil {
		return nil, failed(err, "its configuration file cannot be copied into the container: %v", err)
	}
	log, out, err := l.sinks(launch)
	if err != nil {
		return nil, failed(err, "its log cannot be written: %v", err)
	}
	closeSinks := func() {
		log.Close()
		if out != nil {
			out.Close()
		}
	}
	attached, err := d.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		closeSinks()
		return nil, d.startFailed(err)
	}
	closeAll := func() {
		attached.Close()
		closeSinks()
	}
	if err := d.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		closeAll()
		return nil, d.startFailed(err)
	}
	running, err := d.ContainerInspect(ctx, id)
	if err == nil {
		err = at.published(running)
	}
	if err != nil {
		closeAll()
		return nil, d.startFailed(err)
	}
	if err := at.open(d, launch); err != nil {
		closeAll()
		return nil, failed(err, "%v", err)
	}
	return &instance{
		Container: watch(d, id, name, false, log, out, &attached), spec: spec, kind: kind, at: at,
		about: map[string]string{
			"container": name, "docker": d.Name,
			"resolved_command": strings.Join(append([]string{running.Path}, running.Args...), " "),
		},
	}, nil
}

func (l Launcher) sinks(launch engine.Launch) (log, out *logscan.Sink, err error) {
	if log, err = logscan.OpenSink(launch.LogPath, l.LogLimit, launch.Evidence); err != nil {
		return nil, nil, err
	}
	if launch.OutPath == "" {
		return log, nil, nil
	}
	if out, err = logscan.OpenSink(launch.OutPath, l.LogLimit, logscan.Evidence{}); err != nil {
		log.Close()
	}
	return log, out, err
}
