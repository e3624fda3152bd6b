//go:build lies

package main

import "github.com/mxflow/mxflow/internal/testing/lies"

// The tests' program also imitates engines that lie.
func init() { serveEmbedded = lies.Serve }
