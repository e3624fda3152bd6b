package launch

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine"
)

func TestShownEnv(t *testing.T) {
	got := shownEnv(map[string]string{
		"HF_TOKEN": "hf_x", "OPENAI_API_KEY": "k", "PASSWORD": "p", "MY_AUTH": "a",
		"VLLM_KV_CACHE_TOKENS": "7", "TOKENIZERS_PARALLELISM": "1", "KEYBOARD": "x", "MXFLOW_LAUNCH": "l",
	})
	for name, value := range got {
		secret := slices.Contains([]string{"HF_TOKEN", "OPENAI_API_KEY", "PASSWORD", "MY_AUTH"}, name)
		if secret != (value == "[redacted]") {
			t.Errorf("%s is %q", name, value)
		}
	}
	t.Setenv("HF_TOKEN", "hf_x")
	t.Setenv("VLLM_USE_V1", "1")
	t.Setenv("CUDA_HOME", "/cuda")
	t.Setenv("EDITOR", "ed")
	env := inheritedEnv(engine.Spec{Env: map[string]string{"CUDA_HOME": "/own"}, Unset: []string{"PATH"}})
	for name, want := range map[string]string{"HF_TOKEN": "[redacted]", "VLLM_USE_V1": "1", "CUDA_HOME": "", "PATH": "", "EDITOR": ""} {
		if env[name] != want {
			t.Errorf("%s is %q", name, env[name])
		}
	}
}
