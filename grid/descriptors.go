package grid

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
)

// descriptorsShown is the time for which a member reports that it ran out of file descriptors.
const descriptorsShown = time.Minute

// descriptors records that a listener accepted no connection because no file descriptor was left.
type descriptors struct {
	mono    func() time.Duration
	library *librarylog.Log

	mu  sync.Mutex // guards what follows
	at  time.Duration
	err error // the last one, nil for none
}

// failed returns a function for the errors of a listener's Accept. It logs them once a minute.
func (d *descriptors) failed(listener string) func(error) {
	return func(err error) {
		d.library.Report(slog.LevelWarn, "connections not accepted", err.Error(), "listener", listener, "advice", "raise the limit of open files of this process (ulimit -n)")
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			d.mu.Lock()
			d.at, d.err = d.mono(), err
			d.mu.Unlock()
		}
	}
}

// exhausted returns the last error of a listener that had no file descriptor left, "" if that was long ago.
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

// Accept implements net.Listener.
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
	if len(out) == 0 {
		return "", ""
	}
	return Critical, fmt.Sprintf("no file descriptors were left within the last %v, and connections were not accepted: %s; raise the limit of open files of the process (ulimit -n), or close idle connections",
		descriptorsShown, subjects(out))
}
