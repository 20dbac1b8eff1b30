package main

import (
	"errors"
	"log/slog"
	"net"
	"time"
)

// opsWarnEvery is the least time between two warnings of the ops listener.
const opsWarnEvery = time.Minute

// opsListener is the ops listener, which warns when it accepts no connections.
type opsListener struct {
	net.Listener
	logger *slog.Logger
	warned time.Time // used by the accepting goroutine
}

func (l *opsListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if now := time.Now(); err != nil && !errors.Is(err, net.ErrClosed) && now.Sub(l.warned) >= opsWarnEvery {
		l.warned = now
		l.logger.Warn("connections not accepted", "listener", "ops", "error", err, "advice",
			"raise this process's limit of open files (ulimit -n)")
	}
	return conn, err
}
