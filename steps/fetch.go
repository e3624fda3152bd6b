package steps

import (
	"context"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/variant"
)

var _ = []runtime.Preparer{(*qualify)(nil), (*compare)(nil), (*dockerRun)(nil)}

// fetch brings the images that variants start from, before their keys count: an
// image that came with the first launch would be another one to the next apply.
func (l *launchLab) fetch(ctx context.Context, vs ...*variant.Variant) error {
	f, ok := l.Launcher.(engine.Fetcher)
	if !ok {
		return nil
	}
	for _, v := range vs {
		err := f.Fetch(ctx, v.Spec, func(image string) string { return l.Maker(v.Spec, image) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Prepare implements runtime.Preparer.
func (q *qualify) Prepare(ctx context.Context, s *runtime.Scope) error {
	vs, err := q.variants(s)
	if err != nil {
		return nil // Keys says so
	}
	return q.lab.fetch(ctx, vs...)
}

// maker is the docker_build step of the plan that makes an image where the spec
// is started; empty is none.
func maker(g *runtime.Graph, spec engine.Spec, image string) string {
	var host, name string
	switch {
	case spec.Docker != nil:
		host, name = spec.Docker.Host, spec.Docker.Context
	case spec.Compose != nil:
		host, name = spec.Compose.Host, spec.Compose.Context
	}
	for _, n := range g.Nodes {
		if n.StepBlock == nil || n.StepBlock.Kind != "docker_build" {
			continue
		}
		var c dockerBuildConfig
		if err := n.StepBlock.Decode(&c); err == nil && c.Host == host && c.DockerContext == name && docker.SameImage(c.Tag, image) {
			return n.ID
		}
	}
	return ""
}
