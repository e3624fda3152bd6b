package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/run"
)

// Build is an image to build. Paths are those of this machine.
type Build struct {
	Folder, Dockerfile string
	Tag, Target        string
	Args               map[string]string
}

// Start starts `docker build`. The image's ID is written to idFile.
func (b Build) Start(ctx context.Context, l engine.Launch, idFile string) (engine.Command, error) {
	if _, err := Connect(ctx); err != nil {
		return nil, err
	}
	c := Command{Argv: []string{
		"docker", "build", "--force-rm", "--file", b.Dockerfile, "--tag", b.Tag, "--iidfile", idFile,
	}}
	c.add("--target", b.Target)
	env := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		if byDocker.MatchString(name) {
			c.add("--build-arg", name+"="+b.Args[name])
			continue
		}
		// Through the environment, which other users of the machine cannot see.
		c.add("--build-arg", name)
		env[name] = b.Args[name]
	}
	return run.StartCommand(engine.Spec{
		Command: append(c.Argv, "--", b.Folder), Dir: b.Folder, Env: env, StopGrace: cancelGrace,
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
// permissions and contents, but not times and owners, which COPY does not keep. Of what
// .dockerignore leaves out, only simple patterns are understood, and none if it takes some
// back: too much is hashed rather than too little.
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
	list, err := os.ReadFile(filepath.Join(b.Folder, ".dockerignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", text, list)
	err = filepath.WalkDir(b.Folder, func(file string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(b.Folder, file)
		switch {
		case err != nil || name == ".":
			return err
		case ignored(string(list), filepath.ToSlash(name)) && e.IsDir():
			return fs.SkipDir
		case ignored(string(list), filepath.ToSlash(name)):
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

// ignored reports whether a .dockerignore file leaves out a path of the context.
func ignored(list, name string) bool {
	if strings.HasPrefix(list, "!") || strings.Contains(list, "\n!") {
		return false
	}
	for line := range strings.Lines(list) {
		pattern := strings.Trim(strings.TrimSpace(line), "/")
		at := name
		if base, anywhere := strings.CutPrefix(pattern, "**/"); anywhere {
			pattern, at = base, path.Base(name)
		}
		if ok, _ := path.Match(pattern, at); ok && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}
