package docker

import (
	"context"
	"crypto/rand"
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
	service := readService(ctx, d, spec)
	if service.err != nil {
		return "missing" + elsewhere(spec.Compose.Host, spec.Compose.Context), service.err
	}
	is := service.file
	if service.image == "" {
		is += ", image to be built"
	} else {
		var id string
		id, err = ImageIdentity(ctx, spec.Compose.Host, spec.Compose.Context, service.image)
		is += ", image " + id
	}
	return is + elsewhere(spec.Compose.Host, spec.Compose.Context), err
}

// keepService is how long what was read of a service is good for: compose takes
// about a second to read a file, and every node of a plan asks.
const keepService = 5 * time.Second

// serviceRead is what compose makes of a file, and the image of the service.
type serviceRead struct {
	file, image, pull string
	err               error
	until             time.Time
}

var servicesRead = struct {
	sync.Mutex
	by map[string]serviceRead
}{by: map[string]serviceRead{}}

// readService lets compose read the file of a service, unless it did just now.
func readService(ctx context.Context, d *Daemon, spec engine.Spec) serviceRead {
	key := fmt.Sprintf("%s %+v", d.Name, *spec.Compose)
	servicesRead.Lock()
	defer servicesRead.Unlock()
	if known, ok := servicesRead.by[key]; ok && time.Now().Before(known.until) {
		return known
	}
	var read serviceRead
	if read.err = read.from(ctx, d, spec); ctx.Err() == nil {
		read.until = time.Now().Add(keepService)
		servicesRead.by[key] = read
	}
	return read
}

func (r *serviceRead) from(ctx context.Context, d *Daemon, spec engine.Spec) error {
	dir, err := os.MkdirTemp("", "mxflow-compose")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The ID is of this reading alone: what carries it ends with the reading.
	p, err := readProject(ctx, d, spec, engine.Launch{ID: "identify-" + rand.Text(), Owner: "mxflow", LogPath: filepath.Join(dir, "log")})
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(p.text))
	r.file = "file " + hex.EncodeToString(sum[:16])
	r.image, r.pull = p.image()
	return nil
}
