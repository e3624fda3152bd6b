package remote

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// slurm has a job for each slot, by srun. Its name contains that of the state directory, so
// leftovers of a killed apply can be found.
type slurm struct{ *Pool }

func (s slurm) command(_ context.Context, slot int, _ *Hello, _ func(verdict.Reason)) ([]string, error) {
	x := s.Plan.Executor
	argv := append(slices.Clone(x.Command), fmt.Sprintf("--job-name=mxflow-%s-%d", s.Hello.Owner, slot+1), "--nodes=1",
		"--ntasks=1", "--unbuffered")
	for _, asked := range [][2]string{
		{"account", x.Account},
		{"gres", x.GRES},
		{"partition", x.Partition},
		{"time", x.Time},
	} {
		if asked[1] != "" {
			argv = append(argv, "--"+asked[0]+"="+asked[1])
		}
	}
	return append(append(argv, x.Args...), cmp.Or(x.Program, s.Program), "worker"), nil
}

// ended asks the controller, which forgets jobs after a while, and then accounting, which
// does not if it is enabled.
func (s slurm) ended(ctx context.Context, job string) string {
	if job == os.Getenv("SLURM_JOB_ID") {
		return "" // workers are steps of mxflow's own job
	}
	return until(ctx, func(ctx context.Context) (string, bool) {
		state := func(argv ...string) string {
			text, _ := ask(ctx, nil, argv...)
			word, _, _ := strings.Cut(strings.TrimSpace(text), " ") // CANCELLED by 1000
			return word
		}
		// Not --json, which lists other jobs too and whose types differ between releases.
		now := cmp.Or(state("squeue", "--noheader", "--states=all", "--format=%T", "--jobs="+job),
			state("sacct", "--noheader", "--allocations", "--parsable2", "--format=State", "--jobs="+job))
		switch now {
		case "COMPLETING", "RUNNING":
			return "", false // the final state is not available yet
		case "COMPLETED", "FAILED":
			return "", true // the worker ended by itself
		}
		return now, true
	})
}

func (slurm) drop(context.Context, string) error { return nil } // srun leaves with its worker

func (s slurm) sweep(ctx context.Context) (jobs []string, err error) {
	list, err := ask(ctx, nil, "squeue", "--me", "--noheader", "--format=%i %j")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		if job, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name,
			"mxflow-"+s.Hello.Owner+"-") {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) > 0 {
		_, err = ask(ctx, nil, append([]string{"scancel"}, jobs...)...)
	}
	return jobs, err
}
