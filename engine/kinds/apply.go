package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Applied is what the settings of a plan come to.
type Applied struct {
	Flags []string
	// Env is set unless the plan sets the same names itself.
	Env map[string]string
	// Config is the content of the configuration file, nil where nothing of it
	// is set; see Render.
	Config map[string]any
}

// Apply turns settings into what the engine reads, in the order in which the
// kind declares them, so that equal settings give equal commands. A nil value is
// as good as absent. Values are what a plan decodes to: string, bool, any
// integer or float64, []any and map[string]any. An unknown setting and a value
// that the setting does not take are errors, all reported at once.
func (k Kind) Apply(settings map[string]any) (Applied, error) {
	var out Applied
	var wrong []string
	known := map[string]bool{}
	for _, s := range k.Settings {
		known[s.Name] = true
		v, ok := settings[s.Name]
		if !ok || v == nil {
			continue
		}
		if err := s.apply(v, settings, &out); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("unknown setting %q: %s", name, k.settingsHint()))
		}
	}
	if len(wrong) > 0 {
		return out, fmt.Errorf("engine kind %q: %s", k.Name, strings.Join(wrong, "; "))
	}
	if out.Config != nil {
		out.Flags = append(slices.Clone(k.ConfigArgs), out.Flags...)
	}
	return out, nil
}

func (k Kind) settingsHint() string {
	if len(k.Settings) == 0 {
		return "this kind has none, put flags into the command or args"
	}
	return "it has " + namesOf(k.Settings)
}

// add lays an effect over what is there already.
func (a *Applied) add(e Effect) {
	a.Flags = append(a.Flags, e.Flags...)
	if len(e.Env) > 0 && a.Env == nil {
		a.Env = map[string]string{}
	}
	maps.Copy(a.Env, e.Env)
	for _, key := range slices.Sorted(maps.Keys(e.Config)) {
		if a.Config == nil {
			a.Config = map[string]any{}
		}
		put(a.Config, strings.Split(key, "."), plainNumbers(e.Config[key]))
	}
}

// put sets a value at a path of nested maps. Maps are merged; anything else that
// stands in the way is replaced: the later setting wins.
func put(into map[string]any, path []string, v any) {
	for _, level := range path[:len(path)-1] {
		next, ok := into[level].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[level] = next
		}
		into = next
	}
	last := path[len(path)-1]
	old, held := into[last].(map[string]any)
	if more, ok := v.(map[string]any); ok && held {
		maps.Copy(old, more)
		return
	}
	into[last] = v
}

// Render is the configuration file of the kind, nil where nothing of it is set.
// Equal settings give equal files: keys are in alphabetical order.
func (a Applied) Render(k Kind) ([]byte, error) {
	if a.Config == nil {
		return nil, nil
	}
	switch ending := filepath.Ext(k.ConfigName); ending {
	case ".yml", ".yaml":
		return yaml.Marshal(a.Config)
	case ".json":
		return json.MarshalIndent(a.Config, "", "  ")
	default:
		return nil, fmt.Errorf("engine kind %q: mxflow writes no configuration file %q; the name must end in .yml, .yaml or .json", k.Name, k.ConfigName)
	}
}
