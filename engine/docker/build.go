package docker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/run"
)

// Build is an image to build. Paths are those of this machine.
type Build struct {
	Folder, Dockerfile string
	Tag, Target        string
	Args               map[string]string
}

// byDocker matches variables that the docker command itself, or what it starts, would
// interpret.
var byDocker = regexp.MustCompile(
	`(?i)^((DOCKER|BUILDKIT|BUILDX|COMPOSE|MXFLOW|SSH|LD|GODEBUG|OTEL)(_.*)?|.*_PROXY|PATH|HOME|TMPDIR|LANG|TERM)$`)

// Start starts `docker build`. The image's ID is written to idFile.
func (b Build) Start(ctx context.Context, l engine.Launch, idFile string) (engine.Command, error) {
	if _, err := Connect(ctx); err != nil {
		return nil, err
	}
	argv := []string{"docker", "build", "--force-rm", "--file", b.Dockerfile, "--tag", b.Tag, "--iidfile", idFile}
	if b.Target != "" {
		argv = append(argv, "--target", b.Target)
	}
	env := map[string]string{}
	for _, kv := range commandEnv() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		if byDocker.MatchString(name) {
			argv = append(argv, "--build-arg", name+"="+b.Args[name])
			continue
		}
		// Through the environment, which other users of the machine cannot see.
		argv = append(argv, "--build-arg", name)
		env[name] = b.Args[name]
	}
	return run.StartCommand(engine.Spec{
		Command: append(argv, "--", b.Folder), Dir: b.Folder, Env: env, StopGrace: cancelGrace,
	}, l)
}

// BuiltID reads what Start's command wrote.
func BuiltID(idFile string) (string, error) {
	text, err := os.ReadFile(idFile)
	id := strings.TrimSpace(string(text))
	if err == nil && id == "" {
		err = fmt.Errorf("%s is empty", filepath.Base(idFile))
	}
	return id, err
}

// Inputs is the digest of what `docker build` can read of the context: names, kinds,
// permissions and contents, but not times and owners, which COPY does not keep, and not
// what the Dockerfile's own ignore file leaves out, or .dockerignore if there is none.
func (b Build) Inputs() (string, error) {
	if info, err := os.Stat(b.Folder); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the build context %s does not exist: correct context (relative to the plan's folder)",
			b.Folder)
	}
	text, err := os.ReadFile(b.Dockerfile)
	if err != nil {
		return "", fmt.Errorf("the Dockerfile %s does not exist: correct dockerfile (relative to the context)",
			b.Dockerfile)
	}
	list, err := os.ReadFile(b.Dockerfile + ".dockerignore")
	if errors.Is(err, fs.ErrNotExist) {
		list, err = os.ReadFile(filepath.Join(b.Folder, ".dockerignore"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	patterns, err := ignorefile.ReadAll(bytes.NewReader(list))
	if err != nil {
		return "", err
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		return "", fmt.Errorf("cannot read .dockerignore of %s: %w", b.Folder, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", text, list)
	err = filepath.WalkDir(b.Folder, func(file string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(b.Folder, file)
		if err != nil || name == "." {
			return err
		}
		switch out, err := ignored.MatchesOrParentMatches(name); {
		case err != nil:
			return err
		case out && e.IsDir() && !ignored.Exclusions():
			return fs.SkipDir
		case out:
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %s", name, info.Mode())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			fmt.Fprintf(h, " %q", target)
			return err
		case info.Mode().IsRegular():
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			content := sha256.New()
			_, err = io.Copy(content, f)
			fmt.Fprintf(h, " %x", content.Sum(nil))
			return err
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
