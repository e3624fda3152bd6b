package view

import (
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestSnakeName(t *testing.T) {
	for name, want := range map[string]string{
		"ShmSize": "shm_size", "IgnoreEOS": "ignore_eos", "AskIDs": "ask_ids",
		"IDs": "ids", "JQ": "jq", "APIKey": "api_key",
	} {
		must.Equal(t, name, snakeName(name), want)
	}
}
