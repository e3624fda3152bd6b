package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// cluster has a Job for each slot. It queries Kubernetes through kubectl, which knows
// people's contexts, logins and proxies.
type cluster struct {
	*Pool
	x *plans.Executor
	// owner marks all Jobs of a state directory.
	owner string
}

const (
	labelOwner = "mxflow.owner"
	labelJob   = "mxflow.job"
)

// keeper is what a pod runs until its worker has ended, so neither a killed mxflow nor a
// killed worker leaves a pod that holds its devices. The worker is not its child; it
// writes its PID into a file. Before that, mxflow may still be on its way.
const (
	keeper = `f=` + workerFile + `
trap 'kill $(cat $f) 2>/dev/null || exit 0' TERM
n=0
until [ -s $f ]; do
  sleep 1; n=$((n+1)); new=$(ls -l ${TMPDIR:-/tmp}/mxflow 2>/dev/null)
  [ "$new" = "$old" ] || n=0; old=$new
  [ $n -lt 60 ] || exit 1
done
while kill -0 $(cat $f) 2>/dev/null; do sleep 1; done`
	workerFile = `${TMPDIR:-/tmp}/mxflow-worker`
)

// keptFor is how many seconds a Job is kept after its end if nobody deletes it.
const keptFor = 600

// podEvery is how often a pod's state is polled.
const podEvery = time.Second

// pod is where a worker is started.
type pod struct{ name, node string }

// object is the part of a Job or a pod that is read.
type object struct {
	Kind     string
	Metadata struct {
		Name              string
		DeletionTimestamp string
	}
	Spec struct {
		NodeName   string
		Suspend    bool
		Containers []struct{ Name string }
	}
	Status struct {
		Phase, Reason, Message string
		Conditions             []condition
		ContainerStatuses      []struct {
			Name  string
			State struct {
				Running             *struct{}
				Waiting, Terminated *condition
			}
		}
	}
}

// condition is the reason for a state.
type condition struct{ Type, Status, Reason, Message string }

func (c condition) String() string {
	return strings.TrimPrefix(strings.TrimSuffix(c.Reason+": "+strings.TrimSpace(c.Message), ": "), ": ")
}

// is returns the condition of a type, if it is true.
func (o *object) is(what string) (c condition, holds bool) {
	i := slices.IndexFunc(o.Status.Conditions, func(c condition) bool { return c.Type == what && c.Status == "True" })
	if i < 0 {
		return c, false
	}
	return o.Status.Conditions[i], true
}

// argv is a kubectl command line, in the namespace of the Job.
func (c *cluster) argv(args ...string) []string {
	argv := slices.Clone(c.x.Command)
	var job struct{ Metadata struct{ Namespace string } }
	if _ = json.Unmarshal([]byte(c.x.Job), &job); job.Metadata.Namespace != "" {
		argv = append(argv, "--namespace="+job.Metadata.Namespace)
	}
	return append(argv, args...)
}

// manifest is the plan's Job for one slot. Everything that would start a second pod to
// replace a lost one is disabled: nothing would communicate with it.
func (c *cluster) manifest(name string) ([]byte, error) {
	var job map[string]any
	if err := json.Unmarshal([]byte(c.x.Job), &job); err != nil {
		return nil, err
	}
	inside := func(in map[string]any, key string) map[string]any {
		m, ok := in[key].(map[string]any)
		if !ok {
			m = map[string]any{}
			in[key] = m
		}
		return m
	}
	spec := inside(job, "spec")
	template := inside(spec, "template")
	for _, meta := range []map[string]any{inside(job, "metadata"), inside(template, "metadata")} {
		labels := inside(meta, "labels")
		labels[labelOwner], labels[labelJob] = c.owner, name
		delete(meta, "generateName")
	}
	inside(job, "metadata")["name"] = name
	spec["backoffLimit"], spec["parallelism"], spec["completions"] = 0, 1, 1
	if _, set := spec["ttlSecondsAfterFinished"]; !set {
		spec["ttlSecondsAfterFinished"] = keptFor
	}
	running := inside(template, "spec")
	running["restartPolicy"] = "Never"
	container := running["containers"].([]any)[0].(map[string]any)
	container["command"] = []string{"sh", "-c", keeper}
	delete(container, "args")
	return json.Marshal(job)
}

func (c *cluster) create(ctx context.Context, n int) (job string, err error) {
	job = strings.ToLower(fmt.Sprintf("mxflow-%s-%d-%s", c.owner, n+1, rand.Text()[:6]))
	text, err := c.manifest(job)
	if err == nil {
		_, err = ask(ctx, bytes.NewReader(text), c.argv("create", "-f", "-")...)
	}
	return job, err
}

// look returns a Job and its pods; nil if no Job of that name exists any more.
func (c *cluster) look(ctx context.Context, name string) (job *object, pods []*object, err error) {
	all, err := c.list(ctx, "jobs,pods", "--selector="+labelJob+"="+name)
	for _, o := range all {
		if o.Kind == "Job" {
			job = o
		} else {
			pods = append(pods, o)
		}
	}
	return job, pods, err
}

func (c *cluster) list(ctx context.Context, args ...string) ([]*object, error) {
	text, err := ask(ctx, nil, c.argv(append([]string{"get", "--output=json"}, args...)...)...)
	if err != nil {
		return nil, err
	}
	var all struct{ Items []*object }
	err = json.Unmarshal([]byte(text), &all)
	return all.Items, err
}

// ready waits until a worker can be started in a Job's pod, as long as the cluster takes,
// and notes the reason for waiting. It returns an error for problems that no waiting
// fixes.
func (c *cluster) ready(ctx context.Context, slot int, name string, note func(verdict.Reason)) (*pod, error) {
	began, heard, noted := time.Now(), time.Now(), ""
	for {
		job, pods, err := c.look(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && time.Since(heard) > Silence:
			return nil, err
		case err == nil:
			heard = time.Now()
			on, waits, bad := startable(job, pods)
			if bad.Reason != "" {
				return nil, &verdict.Fault{Reason: verdict.Say("job.unstarted",
					`executor "{subject}" started no worker in Job {job}: {class=Deleted?somebody deleted `+
						"it}{class=Deleted!{class=PodEnded?its pod ended first}{class=PodEnded!{class}}}{says?: "+
						"{says}}. Correct the Job in the executor block, or what it refers to, and apply again",
					verdict.Text("job", name), verdict.Text("class", bad.Reason),
					verdict.Text("says", strings.TrimSpace(bad.Message))).On(c.x.Kind)}
			}
			if on != nil {
				return on, nil
			}
			if says := waits.String(); time.Since(began) >= waitingAfter && (noted == "" || says != noted) {
				note(verdict.New(code.WorkerWaits, verdict.Int("slot", slot+1), verdict.Text("says", says)))
				noted = says
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(podEvery):
		}
	}
}

// hopeless are waiting reasons of containers that are permanent.
var hopeless = []string{
	"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError",
	"CreateContainerError", "RunContainerError",
}

// startable is where a worker can be started, or what is waited for, or why that is
// hopeless.
func startable(job *object, pods []*object) (on *pod, waits, bad condition) {
	if job == nil || job.Metadata.DeletionTimestamp != "" {
		return nil, waits, condition{Reason: "Deleted"}
	}
	if failed, is := job.is("Failed"); is {
		if len(pods) > 0 && disrupted(pods[0]) != "" {
			failed.Message = disrupted(pods[0])
		}
		return nil, waits, failed
	}
	if job.Spec.Suspend {
		return nil, condition{Reason: "Suspended"}, bad
	}
	for _, p := range pods {
		if p.Metadata.DeletionTimestamp != "" || len(p.Spec.Containers) == 0 {
			continue
		}
		if p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
			return nil, waits, condition{Reason: "PodEnded"}
		}
		for _, at := range p.Status.Conditions {
			if at.Type == "PodScheduled" && at.Status == "False" {
				waits = at
			}
		}
		for _, s := range p.Status.ContainerStatuses {
			switch {
			case s.State.Waiting != nil && slices.Contains(hopeless, s.State.Waiting.Reason):
				return nil, waits, *s.State.Waiting
			case s.State.Waiting != nil:
				waits = *s.State.Waiting
			case s.Name == p.Spec.Containers[0].Name && s.State.Running != nil:
				return &pod{p.Metadata.Name, p.Spec.NodeName}, waits, bad
			}
		}
	}
	return nil, waits, bad
}

// command creates the Job of a slot and waits for its pod.
func (c *cluster) command(ctx context.Context, slot int, hello *Hello, note func(verdict.Reason)) ([]string, error) {
	var err error
	if hello.Job, err = c.create(ctx, slot); err != nil {
		return nil, fmt.Errorf("executor %q: %w", c.x.Kind, err)
	}
	on, err := c.ready(ctx, slot, hello.Job, note)
	if err != nil {
		return nil, err
	}
	hello.Host, hello.Slot = on.node, slot+1
	var job struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Name string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(c.x.Job), &job); err != nil {
		return nil, err
	}
	argv := c.argv("exec", "--stdin", on.name, "--container="+job.Spec.Template.Spec.Containers[0].Name,
		"--", "sh", "-c")
	program, err := c.program(ctx, argv, on.name, `"${TMPDIR:-/tmp}"/mxflow`)
	return append(argv, "echo $$ > "+workerFile+"; exec "+program+" worker"), err
}

// drop deletes a Job, unless it is already gone.
func (c *cluster) drop(ctx context.Context, job string) error {
	_, err := ask(ctx, nil, c.argv("delete", "jobs", "--ignore-not-found", "--wait=false", job)...)
	return err
}

// sweep deletes all Jobs of a state directory.
func (c *cluster) sweep(ctx context.Context) (jobs []string, err error) {
	all, err := c.list(ctx, "jobs", "--selector="+labelOwner+"="+c.owner)
	for _, o := range all {
		if o.Metadata.DeletionTimestamp == "" {
			jobs = append(jobs, o.Metadata.Name)
			err = errors.Join(err, c.drop(ctx, o.Metadata.Name))
		}
	}
	return jobs, err
}

// ended is what the cluster did to a Job's worker. Without a worker the pod ends at once.
func (c *cluster) ended(ctx context.Context, name string) string {
	return until(ctx, func(ctx context.Context) (string, bool) {
		job, pods, err := c.look(ctx, name)
		if err != nil || len(pods) > 0 && pods[0].Status.Phase == "Running" && endOf(job, pods[0]) == "" {
			return "", false
		}
		return endOf(job, slices.Concat(pods, []*object{nil})[0]), true
	})
}

// disrupted is how a pod was removed, by the cluster or by its node; empty if it was not.
func disrupted(p *object) string {
	if by, is := p.is("DisruptionTarget"); is {
		return by.String()
	}
	return condition{Reason: p.Status.Reason, Message: p.Status.Message}.String()
}

// endOf is the reason that a Job and its pod ended; both may be gone. What happened to
// the pod comes before its consequences.
func endOf(job, p *object) string {
	if p != nil && disrupted(p) != "" {
		return disrupted(p)
	}
	if job == nil || job.Metadata.DeletionTimestamp != "" {
		return "Deleted"
	}
	for _, what := range []string{"Suspended", "Failed", "FailureTarget"} {
		if by, is := job.is(what); is && by.Reason != "BackoffLimitExceeded" {
			return by.String()
		}
	}
	if p == nil || p.Metadata.DeletionTimestamp != "" {
		return "Deleted"
	}
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.Reason == "OOMKilled" {
			return t.String()
		}
	}
	return ""
}
