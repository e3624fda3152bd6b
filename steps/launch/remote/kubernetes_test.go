package remote

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

// The parts of what kubectl prints.
const (
	aJob      = `{"kind": "Job", "metadata": {"name": "j"}}`
	gone      = `{"kind": "Job", "metadata": {"name": "j", "deletionTimestamp": "now"}}`
	suspended = `{"kind": "Job", "spec": {"suspend": true}, "status": {"conditions": [{"type": "Suspended", "status": "True", "message": "for another"}]}}`
	overdue   = `{"kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}]}}`
	overran   = `{"kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}}`
)

// aPod is a pod with that status.
func aPod(status string) string {
	return `{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "engine"}, {"name": "other"}]}, "status": {` + status + `}}`
}

func takenBy(reason string) string {
	return aPod(`"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "` +
		reason + `", "message": "says"}]`)
}

// waiting is a pod of which a container waits.
func waiting(container, reason string) string {
	return aPod(`"phase": "Pending", "containerStatuses": [{"name": "` + container +
		`", "state": {"waiting": {"reason": "` + reason + `", "message": "says"}}}]`)
}

// clusterOf is a cluster of which kubectl prints that.
func clusterOf(t *testing.T, script string) *cluster {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "kubectl")
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\ncd "+dir+"\n"+script+"\n"), 0o755))
	x := &plans.Executor{
		Kind: plans.KubernetesExecutor, Command: []string{path},
		Job: `{"metadata": {"namespace": "team", "generateName": "x-"}, "spec": {"backoffLimit": 9, "template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "engine", "args": ["x"], "image": "i"}, {"name": "other"}]}}}}`,
	}
	return &cluster{&Pool{}, x, "0123"}
}

// TestEnded: how the worker of a Job was lost, by what the cluster has of both.
func TestEnded(t *testing.T) {
	for _, c := range []struct{ name, items, says string }{
		{"by itself", aJob + "," + aPod(`"phase": "Succeeded"`), ""},
		{"preempted", aJob + "," + takenBy("PreemptionByScheduler"), "PreemptionByScheduler: says"},
		{"preempted, and so failed", overran + "," + takenBy("PreemptionByScheduler"), "PreemptionByScheduler: says"},
		{"drained", aJob + "," + takenBy("EvictionByEvictionAPI"), "EvictionByEvictionAPI: says"},
		{"evicted by its node", aJob + "," + takenBy("TerminationByKubelet"), "TerminationByKubelet: says"},
		{"evicted by an old node", aJob + "," +
			aPod(`"phase": "Failed", "reason": "Evicted", "message": "low on memory"`), "Evicted: low on memory"},
		{"tainted", aJob + "," + takenBy("DeletionByTaintManager"), "DeletionByTaintManager: says"},
		{"node gone", aJob + "," + takenBy("DeletionByPodGC"), "DeletionByPodGC: says"},
		{"node shut down", aJob + "," + aPod(`"phase": "Failed", "reason": "Terminated"`), "Terminated"},
		{"Job deleted", gone + "," + aPod(`"phase": "Running"`), "Deleted"},
		{"all deleted", "", "Deleted"},
		{"pod deleted", aJob, "Deleted"},
		{"by its queue", suspended, "for another"},
		{"too long", overdue, "DeadlineExceeded: too long"},
		{
			"out of memory",
			overran + "," +
				aPod(`"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled"}}}]`),
			"OOMKilled",
		},
		{"failed", overran + "," + aPod(`"phase": "Failed"`), ""},
	} {
		// First as it is before the cluster knows of it.
		before := ""
		if strings.Contains(c.items, "Succeeded") {
			before = "if ! [ -e before ]; then touch before; echo '{\"items\": [" + aJob + "," +
				aPod(`"phase": "Running"`) + "]}'; exit; fi\n"
		}
		must.Equal(t, c.name, clusterOf(t, before+"echo '{\"items\": ["+c.items+"]}'").ended(t.Context(), "j"), c.says)
	}
}

// TestReady: a worker is started in the first container of a Job's pod once that runs, and
// what no waiting helps ends it.
func TestReady(t *testing.T) {
	for _, c := range []struct{ name, items, node, bad string }{
		{"runs", aJob + "," +
			aPod(`"phase": "Running", "containerStatuses": [{"name": "engine", "state": {"running": {}}}]`), "n", ""},
		{"no such image", aJob + "," + waiting("engine", "ImagePullBackOff"), "", "ImagePullBackOff"},
		{
			"of another container", aJob + "," + waiting("other", "CreateContainerConfigError"), "",
			"CreateContainerConfigError",
		},
		{"deleted", "", "", "Deleted"},
		{"ended", aJob + "," + aPod(`"phase": "Failed"`), "", "PodEnded"},
		{"too long", overdue, "", "DeadlineExceeded"},
	} {
		on, err := clusterOf(t, "echo '{\"items\": ["+c.items+"]}'").ready(t.Context(), 0, "j", quiet)
		f, _ := errors.AsType[*verdict.Fault](err)
		switch {
		case c.bad != "":
			if f == nil || f.Reason.Kind != "job.unstarted" || f.Reason.Values["class"].Text != c.bad {
				t.Errorf("%s: %v, %v, want %s", c.name, on, err, c.bad)
			}
		case err != nil || on.name != "p" || on.node != c.node:
			t.Errorf("%s: %v, %v", c.name, on, err)
		}
	}
	for items, want := range map[string]string{
		aJob: "", suspended: "Suspended",
		aJob + "," +
			waiting("engine", "ContainerCreating"): "ContainerCreating: says",
		aJob + "," + waiting("engine", "ErrImagePull"):                                          "ErrImagePull: says",
		aJob + "," + aPod(`"containerStatuses": [{"name": "other", "state": {"running": {}}}]`): "",
		aJob + "," +
			aPod(
				`"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes"}]`): "Unschedulable: 0/4 nodes",
	} {
		var all struct{ Items []*object }
		must.Do(t, json.Unmarshal([]byte(`{"items": [`+items+`]}`), &all))
		if on, waits, bad := startable(all.Items[0], all.Items[1:]); on != nil || bad.Reason != "" ||
			waits.String() != want {
			t.Errorf("%s: %v, %q, %v, want %q", items, on, waits, bad, want)
		}
	}
}

// TestManifest: what becomes of the plan's Job.
func TestManifest(t *testing.T) {
	c := clusterOf(t, `echo "$@" > args; cat > job`)
	name, err := c.create(t.Context(), 1)
	if err != nil || !strings.HasPrefix(name, "mxflow-0123-2-") {
		t.Fatal(name, err)
	}
	dir := filepath.Dir(c.x.Command[0])
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	must.Equal(t, "kubectl", string(args), "--namespace=team create -f -\n")
	text, _ := os.ReadFile(filepath.Join(dir, "job"))
	labels := `"labels":{"mxflow.job":"` + name + `","mxflow.owner":"0123"}`
	runs, _ := json.Marshal([]string{"sh", "-c", keeper})
	want := `{"metadata":{` + labels + `,"name":"` + name +
		`","namespace":"team"},"spec":{"backoffLimit":0,"completions":1,"parallelism":1,` +
		`"template":{"metadata":{` + labels + `},"spec":{"containers":[{"command":` + string(runs) +
		`,"image":"i","name":"engine"},{"name":"other"}],"restartPolicy":"Never"}},"ttlSecondsAfterFinished":600}}`
	must.Equal(t, "the Job", string(text), want)
}
