package elsewhere

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/launch"
)

// jobName is the name of a slot's job: that of the state directory is in it, so that what
// a killed apply left is found again.
func (p *Pool) jobName(n int) string { return fmt.Sprintf("mxflow-%s-%d", p.Hello.Owner, n+1) }

// slurmPatience is how long Slurm may take to answer.
const slurmPatience = 20 * time.Second

// slurm asks one of Slurm's commands.
func slurm(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, slurmPatience)
	defer cancel()
	said := &tail{}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w %s", strings.Join(argv, " "), err, said.last())
	}
	return string(out), err
}

// Sweep cancels the jobs that an apply which was killed left, and returns their numbers.
func (p *Pool) Sweep(ctx context.Context) (jobs []string, err error) {
	if p.Plan.Executor.Kind != plans.SlurmExecutor {
		return nil, nil
	}
	list, err := slurm(ctx, "squeue", "--me", "--noheader", "--format=%i %j")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		if job, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "mxflow-"+p.Hello.Owner+"-") {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) > 0 {
		_, err = slurm(ctx, append([]string{"scancel"}, jobs...)...)
	}
	return jobs, err
}

// jobStates are the classes of a launch that was lost, by how Slurm says that its job ended.
var jobStates = map[string]string{
	"PREEMPTED": launch.GonePreempted, "TIMEOUT": launch.GoneTime, "DEADLINE": launch.GoneTime, "NODE_FAIL": launch.GoneNode, "BOOT_FAIL": launch.GoneNode,
	"CANCELLED": launch.GoneCancelled, "OUT_OF_MEMORY": launch.GoneMemory, "REQUEUED": launch.GoneRequeued, "PENDING": launch.GoneRequeued, "REQUEUE_HOLD": launch.GoneRequeued, "SPECIAL_EXIT": launch.GoneRequeued,
}

// endOfJob is the class of how a job ended; empty where Slurm says nothing of its own. The
// controller forgets jobs after a while, accounting does not, where there is some.
func (p *Pool) endOfJob(job string) string {
	if job == os.Getenv("SLURM_JOB_ID") {
		return "" // workers are steps of the job that mxflow is in
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Hard), slurmPatience)
	defer cancel()
	state := func(argv ...string) string {
		text, _ := slurm(ctx, argv...)
		word, _, _ := strings.Cut(strings.TrimSpace(text), " ") // CANCELLED by 1000
		return word
	}
	for {
		// Not --json, which lists other jobs too and has other types in each release.
		now := state("squeue", "--noheader", "--states=all", "--format=%T", "--jobs="+job)
		switch now {
		case "COMPLETING", "RUNNING":
			// It is not said yet how it ends.
			select {
			case <-time.After(stateEvery):
				continue
			case <-ctx.Done():
				return ""
			}
		case "":
			now = state("sacct", "--noheader", "--allocations", "--parsable2", "--format=State", "--jobs="+job)
		}
		return jobStates[now]
	}
}

// stateEvery is how often Slurm is asked for the state of a job that ends.
const stateEvery = 250 * time.Millisecond
