//go:build !unix

package launch

import "context"

// lockFile relies on the state directory's own lock here.
func lockFile(context.Context, string) (func(), error) { return func() {}, nil }
