package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// Identify implements engine.Identifier: the file as compose reads it, with its
// variables and included files, and the image that the service names.
func (ComposeLauncher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	if spec.Compose == nil {
		return "missing", errors.New("the plan has no compose block for it")
	}
	d, err := Connect(ctx, spec.Compose.Host, spec.Compose.Context)
	if err != nil {
		return "missing", err
	}
	key := fmt.Sprintf("%s %+v", d.Name, *spec.Compose)
	composeIdentities.Lock()
	defer composeIdentities.Unlock()
	if known, ok := composeIdentities.by[key]; ok && time.Now().Before(known.until) {
		return known.is, known.err
	}
	is, err := identifyService(ctx, d, spec)
	is += elsewhere(spec.Compose.Host, spec.Compose.Context)
	composeIdentities.by[key] = identity{is, err, time.Now().Add(keepService)}
	return is, err
}

// keepService is how long the identity of a service is good for: compose takes
// about a second to read a file, and every node of a plan asks.
const keepService = 5 * time.Second

var composeIdentities = struct {
	sync.Mutex
	by map[string]identity
}{by: map[string]identity{}}

func identifyService(ctx context.Context, d *Daemon, spec engine.Spec) (string, error) {
	dir, err := os.MkdirTemp("", "mxflow-compose")
	if err != nil {
		return "missing", err
	}
	defer os.RemoveAll(dir)
	p, err := readProject(ctx, d, spec, engine.Launch{ID: "identify", Owner: "mxflow", LogPath: filepath.Join(dir, "log")})
	if err != nil {
		return "missing", err
	}
	sum := sha256.Sum256([]byte(p.text))
	is := "file " + hex.EncodeToString(sum[:16])
	image := p.service().Image
	if spec.Compose.Image != "" {
		image = spec.Compose.Image
	}
	if image == "" {
		return is + ", image to be built", nil
	}
	id, err := ImageIdentity(ctx, spec.Compose.Host, spec.Compose.Context, image)
	return is + ", image " + id, err
}
