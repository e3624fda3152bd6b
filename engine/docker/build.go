package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/mxflow/mxflow/engine"
	process "github.com/mxflow/mxflow/engine/run"
)

// Build is an image to build. Paths are those of this machine.
type Build struct {
	Folder, Dockerfile string
	Tag, Target        string
	Args, Labels       map[string]string
	CacheFrom          []string
	NoCache, Pull      bool
}

// buildGrace is how long the docker command may take to cancel a build on the daemon.
const buildGrace = 10 * time.Second

// StartBuild starts `docker build`. It uses the command rather than the daemon's API,
// because only the command speaks BuildKit, which RUN --mount, secrets and caches in
// today's Dockerfiles need, and because only it decides what .dockerignore means. The
// image's ID is written to idFile.
func StartBuild(ctx context.Context, b Build, l engine.Launch, idFile string) (engine.Command, error) {
	d, err := Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, errors.New("the docker command, which builds images, is not in PATH: install it (on Debian and Ubuntu: apt install docker.io)")
	}
	set, unset := d.commandEnv()
	argv := []string{"docker", "build", "--force-rm", "--file", b.Dockerfile, "--tag", b.Tag, "--iidfile", idFile}
	if b.Target != "" {
		argv = append(argv, "--target", b.Target)
	}
	for _, image := range b.CacheFrom {
		argv = append(argv, "--cache-from", image)
	}
	if b.NoCache {
		argv = append(argv, "--no-cache")
	}
	if b.Pull {
		argv = append(argv, "--pull")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Labels)) {
		argv = append(argv, "--label", name+"="+b.Labels[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		if readByDocker(name) {
			argv = append(argv, "--build-arg", name+"="+b.Args[name])
			continue
		}
		// Through the environment, which other users of the machine cannot see.
		argv = append(argv, "--build-arg", name)
		set[name] = b.Args[name]
	}
	return process.StartCommand(engine.Spec{
		Command: append(argv, "--", b.Folder), Dir: b.Folder, Env: set, Unset: unset, StopGrace: buildGrace,
	}, l)
}

// readByDocker reports whether the docker command itself, or what it starts, would
// interpret a variable of that name.
func readByDocker(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"DOCKER_", "BUILDKIT_", "BUILDX_", "MXFLOW_", "SSH_", "LD_", "GODEBUG", "OTEL_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return strings.HasSuffix(upper, "_PROXY") || slices.Contains([]string{"PATH", "HOME", "TMPDIR", "LANG", "TERM"}, upper)
}

// commandEnv is the environment that makes the docker command and docker-compose use the
// same daemon.
func (d *Daemon) commandEnv() (set map[string]string, unset []string) {
	return map[string]string{client.EnvOverrideHost: d.Name}, []string{"DOCKER_CONTEXT"}
}

// BuiltID reads what StartBuild wrote.
func BuiltID(idFile string) (string, error) {
	text, err := os.ReadFile(idFile)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "", fmt.Errorf("%s is empty", filepath.Base(idFile))
	}
	return id, nil
}

// ImageID is the ID of the image that a tag names now, empty if there is none.
func ImageID(ctx context.Context, tag string) (string, error) {
	d, err := Connect(ctx)
	if err != nil {
		return "", err
	}
	image, err := d.ImageInspect(ctx, tag)
	if cerrdefs.IsNotFound(err) {
		return "", nil
	}
	return image.ID, err
}

// BuildInputs is the digest of everything that `docker build` can read of a context:
// names, kinds, permissions and contents, but not times and owners, which COPY does not
// keep. Files excluded by .dockerignore are left out; the Dockerfile and the ignore files
// themselves always count.
//
// BuildKit prefers <Dockerfile>.dockerignore and the classic builder does not know it.
// Which one builds is unknown here, so a file counts unless both ignore it: too much is
// hashed rather than too little.
func BuildInputs(context, dockerfile string) (string, error) {
	if info, err := os.Stat(context); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the build context %s does not exist: correct context, which is relative to the plan's folder", context)
	}
	if info, err := os.Stat(dockerfile); err != nil || info.IsDir() {
		return "", fmt.Errorf("the Dockerfile %s does not exist: correct dockerfile, which is relative to the context", dockerfile)
	}
	lists, err := readIgnoreLists(context, dockerfile)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := hashFile(h, "Dockerfile", dockerfile); err != nil {
		return "", err
	}
	always := map[string]bool{filepath.Clean(dockerfile): true, filepath.Join(context, ".dockerignore"): true}
	err = filepath.WalkDir(context, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(context, path)
		if err != nil || rel == "." {
			return err
		}
		name := filepath.ToSlash(rel)
		covered, err := lists.cover(name)
		if err != nil {
			return err
		}
		if covered && !always[path] {
			if e.IsDir() && !lists.exceptions() {
				return fs.SkipDir
			}
			return nil
		}
		return hashFile(h, name, path)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// ignoreLists are the ignore files of a build, as docker build interprets them.
type ignoreLists []*patternmatcher.PatternMatcher

func readIgnoreLists(context, dockerfile string) (lists ignoreLists, err error) {
	general, err := readIgnored(filepath.Join(context, ".dockerignore"))
	if errors.Is(err, fs.ErrNotExist) {
		general, err = patternmatcher.New(nil)
	}
	if err != nil {
		return nil, err
	}
	lists = ignoreLists{general}
	switch own, err := readIgnored(dockerfile + ".dockerignore"); {
	case err == nil:
		lists = append(lists, own)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return lists, nil
}

// readIgnored reads a .dockerignore file.
func readIgnored(file string) (*patternmatcher.PatternMatcher, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	patterns, err := ignorefile.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	list, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// cover reports whether all lists ignore a path (slashes, relative to the context),
// directly or through a parent folder.
func (all ignoreLists) cover(name string) (bool, error) {
	for _, list := range all {
		if covered, err := list.MatchesOrParentMatches(name); err != nil || !covered {
			return false, err
		}
	}
	return true, nil
}

// exceptions reports whether a pattern re-includes what another ignores, so no folder can
// be skipped as a whole.
func (all ignoreLists) exceptions() bool {
	return slices.ContainsFunc(all, (*patternmatcher.PatternMatcher).Exclusions)
}

// hashFile adds one file, link or folder. Texts are preceded by their lengths, so no two
// trees give the same bytes.
func hashFile(h hash.Hash, name, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	size := info.Size()
	if info.IsDir() {
		size = 0
	}
	fmt.Fprintf(h, "%d %s %s %d\n", len(name), name, info.Mode(), size)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%d %s\n", len(target), target)
	case info.Mode().IsRegular():
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(h, f)
		if err == nil && n != size {
			err = fmt.Errorf("%s changed while it was being read", path)
		}
		return err
	}
	return nil
}
