package elsewhere

import (
	"context"
	"encoding/json"
	"fmt"
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
	ctx := context.WithoutCancel(p.Hard)
	text, err := slurm(ctx, "squeue", "--json", "--states=all", "--jobs="+job)
	var answer struct {
		Jobs []struct {
			State jobState `json:"job_state"`
		} `json:"jobs"`
	}
	if err == nil && json.Unmarshal([]byte(text), &answer) == nil && len(answer.Jobs) > 0 {
		return answer.Jobs[0].State.class()
	}
	text, err = slurm(ctx, "sacct", "--noheader", "--allocations", "--parsable2", "--format=State", "--jobs="+job)
	if err != nil {
		return ""
	}
	return jobState{strings.TrimSpace(text)}.class()
}

// jobState is a state as Slurm prints it: a word, or since 23.11 a list of words.
type jobState []string

func (s *jobState) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil {
		*s = jobState{word}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(s))
}

func (s jobState) class() string {
	for _, state := range s {
		if class := jobStates[strings.ToUpper(strings.SplitN(strings.TrimSpace(state), " ", 2)[0])]; class != "" {
			return class
		}
	}
	return ""
}
