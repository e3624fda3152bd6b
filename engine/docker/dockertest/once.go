package dockertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine/docker"
)

// shared is what the tests of this process have in common: images by what they
// are made of, and how everything is removed, the last first.
var shared struct {
	sync.Mutex
	images map[string]func() (string, error)
	undo   []func() error
}

// Remove removes what the tests of this process shared; it is called after the
// last one.
func Remove() error {
	shared.Lock()
	undo := shared.undo
	shared.images, shared.undo = nil, nil
	shared.Unlock()
	var all error
	for i := len(undo) - 1; i >= 0; i-- {
		all = errors.Join(all, undo[i]())
	}
	return all
}

// atEnd makes Remove do more.
func atEnd(undo func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.undo = append(shared.undo, undo)
}

// Once builds an image as Image does, the first time that it is asked for. It
// stays until Remove.
func Once(d *docker.Daemon, program string, lines ...string) (name string, err error) {
	return once(d, program+"\n"+strings.Join(lines, "\n"), func(name string) error {
		return build(context.Background(), d, name, program, lines...)
	})
}

// once makes the image of a key.
func once(d *docker.Daemon, key string, make func(name string) error) (string, error) {
	shared.Lock()
	if shared.images == nil {
		shared.images = map[string]func() (string, error){}
	}
	get, ok := shared.images[key]
	if !ok {
		get = sync.OnceValues(func() (string, error) {
			name := "mxflow-test/" + strings.ToLower(rand.Text()[:10]) + ":1"
			if err := make(name); err != nil {
				return "", err
			}
			atEnd(func() error { return removeImage(d, name) })
			return name, nil
		})
		shared.images[key] = get
	}
	shared.Unlock()
	return get()
}

func removeImage(d *docker.Daemon, name string) error {
	_, err := d.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true})
	if err != nil {
		return fmt.Errorf("image %s stays: %w", name, err)
	}
	return nil
}
