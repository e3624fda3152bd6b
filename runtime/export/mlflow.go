package export

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MLflow writes a file store for mlflow ui --backend-store-uri DIR: an experiment per
// plan, a run per variant and session, with a step per launch. It only writes into a new
// folder.
func MLflow(dir string, launches []Launch) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("--out %s must be a new folder: %w", dir, err)
	}
	write := func(text string, path ...string) error {
		file := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.WriteString(text); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	}
	type run struct {
		experiment, id string
		first, last    Launch
		steps          int
	}
	runs, experiments := map[string]*run{}, map[string]bool{}
	for _, l := range launches {
		key := l.Plan + " " + l.Session + " " + l.Block + " " + l.Variant
		r := runs[key]
		if r == nil {
			r = &run{experiment: number(l.Plan), id: fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:32], first: l}
			runs[key] = r
		}
		if !experiments[r.experiment] {
			experiments[r.experiment] = true
			at := l.Started.UnixMilli()
			if err := write(fmt.Sprintf("artifact_location: %q\ncreation_time: %d\nexperiment_id: '%s'\nlast_update_time: %d\nlifecycle_stage: active\nname: %q\n", "./"+r.experiment, at, r.experiment, at, l.Plan), r.experiment, "meta.yaml"); err != nil {
				return err
			}
		}
		for _, v := range l.Values {
			if err := write(fmt.Sprintf("%d %s %d\n", ended(l).UnixMilli(), digits(v.Value), r.steps), r.experiment, r.id, "metrics", fileName(v.Address())); err != nil {
				return err
			}
		}
		r.last, r.steps = l, r.steps+1
	}
	for _, key := range slices.Sorted(maps.Keys(runs)) {
		r := runs[key]
		meta := fmt.Sprintf("artifact_uri: %q\nend_time: %d\nentry_point_name: ''\nexperiment_id: '%s'\nlifecycle_stage: active\nrun_id: %s\nrun_name: %q\nrun_uuid: %s\nsource_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: %d\nstatus: 3\ntags: []\nuser_id: mxflow\n",
			"./"+r.experiment+"/"+r.id+"/artifacts", ended(r.last).UnixMilli(), r.experiment, r.id, r.first.Variant, r.id, r.first.Started.UnixMilli())
		texts := map[string]string{"meta.yaml": meta, "params/engine": r.first.Block, "tags/mlflow.runName": r.first.Variant, "tags/mxflow.session": r.first.Session, "tags/mxflow.run": r.first.Run, "tags/mxflow.variant": r.first.Variant}
		for name, value := range r.first.Knobs {
			texts["params/knob."+fileName(name)] = value
		}
		for name, text := range texts {
			if err := write(text, r.experiment, r.id, filepath.FromSlash(name)); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(filepath.Join(dir, r.experiment, r.id, "artifacts"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func ended(l Launch) time.Time { return l.Started.Add(time.Duration(l.Seconds * float64(time.Second))) }

// number is the ID of an experiment, which in MLflow is digits.
func number(plan string) string {
	sum := sha256.Sum256([]byte(plan))
	return fmt.Sprintf("%d", uint64(sum[0])<<40|uint64(sum[1])<<32|uint64(sum[2])<<24|uint64(sum[3])<<16|uint64(sum[4])<<8|uint64(sum[5])|1<<47)
}

// fileName is a metric name that MLflow accepts, which is a file name.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if strings.Trim(name, ".") == "" {
		return "_"
	}
	return name
}
