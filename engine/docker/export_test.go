package docker

import (
	"testing"
	"time"
)

// ShortenReturn makes a daemon that went away count as gone soon.
func ShortenReturn(t *testing.T) {
	before := returnLimit
	returnLimit = 500 * time.Millisecond
	t.Cleanup(func() { returnLimit = before })
}
