package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mxflow/mxflow/plans/lang"
)

// MaxFile is the largest file that file() reads, in bytes.
const MaxFile = 4 << 20

func (o *outside) envFunc() function.Function {
	return function.New(&function.Spec{
		Description: "An environment variable, or the second argument if it is not set.",
		Params:      []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "default", Type: cty.String, AllowNull: true},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) > 2 {
				return cty.NilVal, errors.New("env takes a name and a default")
			}
			if text, ok := o.Lookup(args[0].AsString()); ok {
				if !utf8.ValidString(text) {
					return cty.NilVal, fmt.Errorf("environment variable %s is not valid UTF-8", args[0].AsString())
				}
				o.Env[args[0].AsString()] = text
				return cty.StringVal(text), nil
			}
			if len(args) == 2 {
				return args[1], nil
			}
			return cty.NilVal, fmt.Errorf("environment variable %s is not set; set it, or write env(%q, \"default\")",
				args[0].AsString(), args[0].AsString())
		},
	})
}

// readBelow reads a file below the plan's folder, once per load. Links that lead out of
// it are not followed: a plan reads only what travels with it.
func (o *outside) readBelow(path string) (string, error) {
	if text, known := o.Read[path]; known {
		return text, nil
	}
	if filepath.IsAbs(path) {
		return "", fmt.Errorf("%q is an absolute path; use a path relative to the plan's folder", path)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return "", fmt.Errorf("cannot read the plan's folder: %v", lang.Reason(err))
	}
	defer root.Close()
	info, err := root.Stat(path)
	var data []byte
	if err == nil && info.Mode().IsRegular() && info.Size() <= MaxFile {
		data, err = root.ReadFile(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Replays:
		return "", fmt.Errorf("the run kept no file %q: files that hold or may hold secrets are not recorded", path)
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %q in the plan's folder", path)
	case err != nil:
		return "", fmt.Errorf("cannot read %q: %v; only files in the plan's folder can be read", path, lang.Reason(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%q is not a regular file", path)
	case info.Size() > MaxFile:
		return "", fmt.Errorf("%q is larger than %d MiB", path, MaxFile>>20)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%q is not valid UTF-8", path)
	}
	o.Read[path] = string(data)
	return string(data), nil
}
