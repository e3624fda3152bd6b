//go:build !linux

package load

import "context"

func newAlarm(ctx context.Context) alarm { return newTimerAlarm(ctx) }
