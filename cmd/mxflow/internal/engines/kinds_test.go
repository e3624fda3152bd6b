package engines

import "testing"

func TestSnakeName(t *testing.T) {
	for name, want := range map[string]string{"ShmSize": "shm_size", "IgnoreEOS": "ignore_eos", "AskIDs": "ask_ids", "IDs": "ids", "JQ": "jq", "APIKey": "api_key"} {
		if got := snakeName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
