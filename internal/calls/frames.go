package calls

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

const (
	// upgradeTimeout bounds the upgrade of a connection. It has to suffice for a member with little
	// processor time, since another dial would cost that member more; each waiting call has its own
	// time limit, and the kernel detects a broken path earlier, see TCP.
	upgradeTimeout = time.Minute
	// backoffBase and backoffMax bound the random pause before the next dial to an address, which
	// doubles with each failed dial. The maximum is short compared with a call's time limit, so
	// that a refused connection is not mistaken for a silent one.
	backoffBase = 10 * time.Millisecond
	backoffMax  = 250 * time.Millisecond
)

// framedLines are a transport's framed connections, by address. The zero value is ready.
//
// A member may have two addresses: a name in the configuration, and an IP address in the directory.
// Calls to both share one connection, once the name has resolved to that IP address. Addresses that
// are never called themselves, such as a proxy's, do not count.
type framedLines struct {
	mu     sync.Mutex // guards what follows; never held while waiting
	of     map[string]*framedLine
	closes int // counts calls of close
}

// framedLine is the framed connection to an address, or the reason why there is none.
type framedLine struct {
	attempt  *attempt // the last, nil before the first
	remote   string   // the address of the last connection that was dialed
	failures int      // failed dials in succession
}

// attempt is an attempt to open a connection. Fields below done are set before done is closed.
type attempt struct {
	done   chan struct{}
	cancel func()         // ends the attempt
	conn   *frames.Client // nil if there is none
	remote string         // the connection's remote address
	err    error
}

// usable reports whether calls may wait for the attempt, or use its connection.
func (a *attempt) usable() bool {
	if a == nil {
		return false
	}
	select {
	case <-a.done:
	default:
		return true
	}
	if a.conn == nil {
		return false
	}
	select {
	case <-a.conn.Done():
		return false
	default:
		return true
	}
}

// framed returns the framed connection to an address. All callers wait for one dial, which outlives
// their contexts.
func (p *Pool) framed(ctx context.Context, addr string) (*frames.Client, error) {
	a := p.lines.attemptFor(addr, p.connect)
	select {
	case <-a.done:
	default:
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, unreachable(addr, ctx.Err())
		}
	}
	return a.conn, a.err
}

// attemptFor returns the attempt to wait for, and starts one if there is none.
func (f *framedLines) attemptFor(addr string,
	connect func(ctx context.Context, addr string, pause time.Duration) *attempt) *attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := f.line(addr)
	if line.attempt.usable() {
		return line.attempt
	}
	if same := f.same(addr, line); same != nil {
		return same
	}
	ctx, cancel := context.WithCancel(context.Background()) // the call's may end first
	a := &attempt{done: make(chan struct{}), cancel: cancel}
	line.attempt = a
	var pause time.Duration
	if line.failures > 0 { // with full jitter
		pause = rand.N(min(backoffBase<<min(line.failures-1, 10), backoffMax)) + 1
	}
	closes := f.closes
	go func() {
		defer cancel()
		result := connect(ctx, addr, pause)
		a.conn, a.remote, a.err = result.conn, result.remote, result.err
		f.mu.Lock()
		defer f.mu.Unlock()
		if a.err != nil {
			line.failures++
		} else {
			line.failures, line.remote = 0, a.remote
		}
		if a.conn != nil && f.closes != closes {
			a.conn.Close()
		}
		close(a.done)
	}()
	return a
}

// line returns the framed line for an address, a new one if there is none. mu must be held.
func (f *framedLines) line(addr string) *framedLine {
	line := f.of[addr]
	if line == nil {
		if f.of == nil {
			f.of = map[string]*framedLine{}
		}
		// Lines that hold no state are dropped.
		maps.DeleteFunc(f.of, func(_ string, line *framedLine) bool { return !line.attempt.usable() })
		line = &framedLine{}
		f.of[addr] = line
	}
	return line
}

// same returns an attempt by another address of the same member, or nil. mu must be held.
func (f *framedLines) same(addr string, line *framedLine) *attempt {
	if other := f.of[line.remote]; other != nil && other.attempt.usable() {
		return other.attempt
	}
	for _, other := range f.of {
		if other.remote == addr && other.attempt.usable() {
			line.attempt = other.attempt
			return other.attempt
		}
	}
	return nil
}

// close ends every connection and every attempt.
func (f *framedLines) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closes++
	for _, line := range f.of {
		if a := line.attempt; a.usable() {
			select {
			case <-a.done:
				a.conn.Close()
			default:
				a.cancel()
			}
		}
	}
}

// connect opens a framed connection after a pause.
func (p *Pool) connect(ctx context.Context, addr string, pause time.Duration) *attempt {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return &attempt{err: unreachable(addr, ctx.Err())}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+upgradeTimeout)
	defer cancel()
	req, err := p.upgradeRequest(addr)
	if err != nil {
		return &attempt{err: err}
	}
	dial := p.dialClear
	if p.creds != nil {
		dial = p.dialTLS
	}
	conn, err := dial(ctx, addr)
	if err != nil {
		return &attempt{err: unreachable(addr, err)}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	a := p.upgrade(conn, addr, req)
	stop()
	if a.conn == nil {
		_ = conn.Close()
	}
	return a
}

// onEnd returns a function that reports the end of a connection to Broken, nil without Broken.
func (p *Pool) onEnd(addr string) func(error) {
	if p.Broken == nil {
		return nil
	}
	return func(err error) {
		if !errors.Is(err, net.ErrClosed) {
			p.Broken(addr)
		}
	}
}

// ready returns the framed connection to an address, nil if there is none yet.
func (f *framedLines) ready(addr string) *frames.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := f.of[addr]
	if line == nil || line.attempt == nil {
		return nil
	}
	select {
	case <-line.attempt.done:
		return line.attempt.conn
	default:
		return nil
	}
}

// StartCall makes a call between members without waiting. done is called once with the reply or
// with an error as from [HTTP.CallWith], by the goroutine that reads the connection: it must not
// block. StartCall reports false, and calls nothing, if the call would have to wait: there is no
// framed connection, or it has too many calls in progress.
func StartCall[In, Out any](p *Pool, addr string, head frame.Head, limit time.Duration, in In,
	done func(Out, error)) bool {
	conn := p.lines.ready(addr)
	if conn == nil {
		return false
	}
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	body, err := wire.AppendMsgPack((*buf)[:0], &in)
	if err != nil {
		return false
	}
	*buf = body[:0]
	head.Timeout = uint32(limit.Milliseconds())
	return conn.Start(time.Now().Add(limit), head, body, func(status int, answer []byte, err error) {
		var out Out
		if err != nil {
			err = unreachable(addr, err)
		} else {
			err = readAnswer(addr, status, answer, &out)
		}
		done(out, err)
	})
}

// bodies are buffers for messages to be queued as frames.
var bodies = sync.Pool{New: func() any { return new(make([]byte, 0, 512)) }}
