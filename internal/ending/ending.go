// Package ending ends a program in order at a signal, and immediately at a later one.
package ending

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// oneEnd is the time within which signals count as one: a terminal, timeout(1) and other programs
// that run commands signal the process group and the process itself.
const oneEnd = time.Second

// Context returns a context that ends at SIGINT or SIGTERM. A second after the first signal the
// default action is restored, so that the next one terminates the process immediately.
func Context() context.Context {
	return untilSignal(oneEnd)
}

func untilSignal(one time.Duration) context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(one, stop) })
	return ctx
}
