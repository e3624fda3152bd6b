//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package flock

import "os"

// NoFollow is nothing that this system could be told.
const NoFollow = 0

func Exclusive(*os.File) (held bool, err error) { return false, ErrNone }
func Shared(*os.File) (held bool, err error)    { return false, ErrNone }
func Unlock(*os.File) error                     { return ErrNone }
