package elsewhere

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/launch"
)

// jobName is the name of a slot's job. It contains that of the state directory, so
// leftovers of a killed apply can be found.
func (p *Pool) jobName(n int) string { return fmt.Sprintf("mxflow-%s-%d", p.Hello.Owner, n+1) }

// Sweep cancels the jobs that a killed apply left, and returns their numbers.
func (p *Pool) Sweep(ctx context.Context) (jobs []string, err error) {
	switch p.Plan.Executor.Kind {
	case plans.SSHExecutor:
		return nil, nil
	case plans.KubernetesExecutor:
		return p.cluster().sweep(ctx)
	}
	list, err := ask(ctx, nil, "squeue", "--me", "--noheader", "--format=%i %j")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		if job, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "mxflow-"+p.Hello.Owner+"-") {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) > 0 {
		_, err = ask(ctx, nil, append([]string{"scancel"}, jobs...)...)
	}
	return jobs, err
}

// jobStates are the classes of lost launches, by the final state that Slurm reports for
// the job.
var jobStates = map[string]string{
	"PREEMPTED": launch.GonePreempted, "TIMEOUT": launch.GoneTime, "DEADLINE": launch.GoneTime, "NODE_FAIL": launch.GoneNode, "BOOT_FAIL": launch.GoneNode,
	"CANCELLED": launch.GoneCancelled, "OUT_OF_MEMORY": launch.GoneMemory, "REQUEUED": launch.GoneRequeued, "PENDING": launch.GoneRequeued, "REQUEUE_HOLD": launch.GoneRequeued, "SPECIAL_EXIT": launch.GoneRequeued,
}

// endOfJob is the class of how a job ended, and its scheduler's message; empty if the
// scheduler has nothing to report. Slurm's controller forgets jobs after a while;
// accounting, if enabled, does not.
func (p *Pool) endOfJob(job string) (class, says string) {
	if p.Plan.Executor.Kind == plans.KubernetesExecutor {
		return p.cluster().ended(context.WithoutCancel(p.Hard), job)
	}
	if job == os.Getenv("SLURM_JOB_ID") {
		return "", "" // workers are steps of mxflow's own job
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Hard), patience)
	defer cancel()
	state := func(argv ...string) string {
		text, _ := ask(ctx, nil, argv...)
		word, _, _ := strings.Cut(strings.TrimSpace(text), " ") // CANCELLED by 1000
		return word
	}
	for {
		// Not --json, which lists other jobs too and whose types differ between releases.
		now := state("squeue", "--noheader", "--states=all", "--format=%T", "--jobs="+job)
		switch now {
		case "COMPLETING", "RUNNING":
			// The final state is not available yet.
			select {
			case <-time.After(stateEvery):
				continue
			case <-ctx.Done():
				return "", ""
			}
		case "":
			now = state("sacct", "--noheader", "--allocations", "--parsable2", "--format=State", "--jobs="+job)
		}
		return jobStates[now], ""
	}
}

// stateEvery is how often Slurm is polled for the state of an ending job.
const stateEvery = 250 * time.Millisecond
