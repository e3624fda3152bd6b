package work

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var dockerBuildKind = Kind{
	Schema: plans.Schema{
		Doc: "Builds an image with `docker build`, again when an input has changed. Inputs are the files of the " +
			"context (except those that `<Dockerfile>.dockerignore`, or else `.dockerignore`, leaves out), the " +
			"Dockerfile and the attributes. It is also built again if the tag names another image than the one built.",
		Example: plans.Example(examples, `step "docker_build" "vllm" {`),
		Attrs:   plans.Attrs(dockerBuildConfig{}),
		Check: func(b *plans.Block) []plans.AttrError {
			var wrong []plans.AttrError
			if tag, _ := b.Attrs["tag"].(string); tag == "" || strings.HasPrefix(tag, "-") ||
				strings.ContainsAny(tag, " \t@") {
				wrong = append(wrong, plans.AttrError{
					Attr: "tag", Code: "invalid-value", Summary: "Invalid image tag",
					Detail: `Write a name and a version, as in "vllm-dev:mxfp4".`,
				})
			}
			if folder, _ := b.Attrs["context"].(string); strings.Contains(folder, "://") ||
				strings.HasPrefix(folder, "git@") {
				wrong = append(wrong,
					plans.AttrError{
						Attr: "context", Code: "invalid-value", Summary: "Invalid build context",
						Detail: "It must be a folder of this machine, so changes in it are noticed. Fetch the " +
							"repository in an earlier git step, and name its folder.",
					})
			}
			return wrong
		},
	},
	Make: func(l *Site, b *plans.Block) runtime.Step { return &dockerBuild{site: l, block: b} },
}

type dockerBuild struct {
	site  *Site
	block *plans.Block
}

type dockerBuildConfig struct {
	Tag        string            `hcl:"tag" doc:"The image's name, as in 'image' of an engine."`
	Context    string            `hcl:"context,optional" default:"." doc:"Folder sent to the builder, relative to the plan's folder."`
	Dockerfile string            `hcl:"dockerfile,optional" default:"Dockerfile" doc:"Relative to the context."`
	Target     string            `hcl:"target,optional" doc:"The stage to build; without it, the last one."`
	Args       map[string]string `hcl:"args,optional" doc:"Values for ARG. They stay in the image's history, so a sensitive one is better read from a secret at run time."`
	Timeout    plans.Dur         `hcl:"timeout,optional" default:"2h" doc:"Time limit. Then the build is stopped and the step fails."`
}

func (d *dockerBuild) config() (c dockerBuildConfig, b docker.Build, err error) {
	if err = d.block.Decode(&c); err != nil {
		return c, b, err
	}
	// Absolute, as the docker command runs in the context.
	folder, err := filepath.Abs(d.site.Plan.Path(c.Context))
	if err != nil {
		return c, b, err
	}
	file := c.Dockerfile
	if !filepath.IsAbs(file) {
		file = filepath.Join(folder, file)
	}
	return c, docker.Build{
		Folder: folder, Dockerfile: file, Tag: c.Tag, Target: c.Target, Args: c.Args,
	}, nil
}

// madeImage is the key of Decision.Made for the image's ID.
const madeImage = "image_id"

// daemonPatience bounds the query whether an image still exists.
const daemonPatience = 20 * time.Second

// Derive implements runtime.Step. An image is identified by what it is built from. If the recorded image is
// gone, or its tag now names another one, the key differs from the recorded one, so it is built again; the
// attempt keeps the new key apart from the old.
func (d *dockerBuild) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	c, b, err := d.config()
	if err != nil {
		return nil, err
	}
	inputs, err := b.Inputs()
	if err != nil {
		// Do reports the error; an earlier step may fix it first.
		inputs = "unreadable"
	}
	attrs := map[string]any{}
	for name, v := range d.block.Attrs {
		if name != "timeout" {
			attrs[name] = v
		}
	}
	key := d.site.sealed("docker_build", attrs, inputs)
	if p := s.Previous; p != nil && p.Made[madeImage] != "" &&
		(p.MeasureKey == key || strings.HasPrefix(p.MeasureKey, key+"@")) {
		ctx, cancel := context.WithTimeout(runtime.ContextOf(s), daemonPatience)
		defer cancel()
		if id, err := docker.ImageID(ctx, c.Tag); err == nil && id == p.Made[madeImage] {
			key = p.MeasureKey
		} else {
			key += "@" + strconv.Itoa(p.Attempt)
		}
	}
	out := &runtime.Derived{Key: key}
	out.Outcome, out.Why = s.Recorded(key, verdict.Reason{})
	return out, nil
}

func (d *dockerBuild) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	c, b, err := d.config()
	if err != nil {
		return nil, err
	}
	broke := func(err error) (*ledger.Decision, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return &ledger.Decision{Verdict: verdict.Error, Reasons: verdict.Because(code.NotStarted, verdict.Line(err))},
			nil
	}
	if _, err := b.Inputs(); err != nil {
		return broke(err)
	}
	launch, err := d.site.stepLaunch(s)
	if err != nil {
		return nil, err
	}
	idFile := launch.LogPath + ".image"
	defer os.Remove(idFile)
	run, err := b.Start(ctx, launch, idFile)
	if err != nil {
		return broke(err)
	}
	out, err := d.site.await(ctx, s, run, time.Duration(c.Timeout), "")
	if err != nil || out.Verdict != verdict.Pass {
		return out, err
	}
	id, err := docker.BuiltID(idFile)
	if err != nil {
		out.Verdict, out.Reasons = verdict.Error, verdict.Because(code.Of("docker.no_image_id",
			"docker build succeeded but left no image ID: {error}"),
			verdict.Err(err))
		return out, nil
	}
	out.Made = map[string]string{madeImage: id, "tag": c.Tag}
	short := strings.TrimPrefix(id, "sha256:") // as docker shortens it
	out.Reasons = []verdict.Reason{verdict.Say("docker.image_made", "{subject} is {image}",
		verdict.Text("image", short[:min(len(short), 12)])).On(c.Tag)}
	return out, nil
}

// Maker is the docker_build step of the plan that makes an image; empty if there is none.
func Maker(g *runtime.Graph, image string) string {
	if g == nil {
		return ""
	}
	for _, n := range g.Nodes {
		if n.StepBlock == nil || n.StepBlock.Kind != "docker_build" {
			continue
		}
		var c dockerBuildConfig
		if err := n.StepBlock.Decode(&c); err == nil && docker.SameImage(c.Tag, image) {
			return n.ID
		}
	}
	return ""
}
