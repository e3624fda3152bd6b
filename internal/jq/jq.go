// Package jq runs the jq programs that read files of other tools: those that mxflow brings, and those of users.
package jq

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/itchyny/gojq"
)

// module is what a program says of its tool, and of the files that it writes.
var module = regexp.MustCompile(`(?m)^module \{tool: "([^"]*)"(?:, file: "([^"]*)")?\};`)

// Module is the tool that a program names, and how that writes its files; empty if it does not say.
func Module(text string) (tool, file string) {
	if m := module.FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// Limit is the time for all that programs do with one file.
const Limit = 20 * time.Second

// Run gives all results of a program. Its errors are in words of who wrote it.
func Run(ctx context.Context, code *gojq.Code, input any) (all []any, err error) {
	for iter := code.RunWithContext(ctx, input); ; {
		v, more := iter.Next()
		switch err, failed := v.(error); {
		case !more:
			return all, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("its jq program did not end within %s", Limit)
		case failed:
			if given, is := errors.AsType[gojq.ValueError](err); is {
				switch reason := given.Value().(type) {
				case nil:
					err = errors.New("its jq program ended without a reason, by halt or error")
				case string:
					err = errors.New(reason)
				}
			}
			return nil, err
		}
		all = append(all, v)
	}
}
