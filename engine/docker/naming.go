package docker

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

// imageOf is the image that a Spec asks for, or else its kind.
func imageOf(spec engine.Spec, kind kinds.Kind) string {
	if spec.Docker.Image != "" {
		return spec.Docker.Image
	}
	return kind.Image
}

// containerName is what `docker ps` shows: the launch, and something that is
// never given twice.
func containerName(launch string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '-'
	}, launch)
	return "mxflow-" + safe[:min(len(safe), 80)] + "-" + strings.ToLower(rand.Text()[:6])
}

func failed(err error, format string, args ...any) *engine.Failure {
	return &engine.Failure{Op: "start", Reason: fmt.Sprintf(format, args...), Err: err}
}
