package grid

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// descriptorsShown is the time for which a member reports that it ran out of file descriptors.
const descriptorsShown = time.Minute

// descriptors records that a listener accepted no connection, or a dial failed, because no file descriptor was left.
type descriptors struct {
	mono    func() time.Duration
	library *librarylog.Log

	mu  sync.Mutex // guards what follows
	at  time.Duration
	err error // the last one, nil for none
}

// failed returns a function for a listener's Accept errors. It logs them once a minute.
func (d *descriptors) failed(listener string) func(error) {
	return func(err error) {
		d.library.Report(slog.LevelWarn, "connections not accepted", err.Error(), "listener", listener, "advice",
			"raise this process's limit of open files (ulimit -n)")
		d.note(err)
	}
}

// note records an error from a listener or a dial, if it is that no file descriptor was left.
func (d *descriptors) note(err error) {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.at, d.err = d.mono(), err
	}
}

// watchedNetwork is a network that passes Dial errors on to failed. It resolves as that network does.
type watchedNetwork struct {
	Network
	transport.Resolver
	failed func(error)
}

func (n watchedNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := n.Network.Dial(ctx, addr)
	if err != nil {
		n.failed(err)
	}
	return conn, err
}

// exhausted returns the last error from a listener that had no file descriptor left, "" if that was long ago.
func (d *descriptors) exhausted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil || d.mono()-d.at > descriptorsShown {
		return ""
	}
	return d.err.Error()
}

// watchedListener is a listener that passes Accept errors to failed.
type watchedListener struct {
	net.Listener
	failed func(error)
}

func (l watchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.failed(err)
	}
	return conn, err
}

// checkDescriptors looks for members that had no file descriptor left a moment ago.
func checkDescriptors(s Status) (Severity, string) {
	var out []string
	for _, m := range s.Members {
		if m.Report != nil && m.Report.NoDescriptors != "" {
			out = append(out, m.who()+": "+m.Report.NoDescriptors)
		}
	}
	return about(out, Critical, "file descriptors ran out within the last %v, and connections were not accepted or not "+
		"opened: %s; raise the process's limit of open files (ulimit -n), or close idle connections",
		descriptorsShown, subjects(out))
}
