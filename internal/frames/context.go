package frames

import (
	"context"
	"sync"
	"time"
)

// callContext is a request's context. It has no timer or goroutine: the connection times all its
// requests (see expiry), and ends them. A context from package context for each request took more
// time than the request.
type callContext struct {
	values context.Context // has the values, and nothing else

	mu       sync.Mutex    // guards the fields below; never held while waiting
	done     chan struct{} // allocated on demand
	err      error
	deadline time.Time
	atEnd    []func()
}

// closed is a channel that is closed.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *callContext) Deadline() (by time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, !c.deadline.IsZero()
}

func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.err != nil {
			return closed
		}
		c.done = make(chan struct{})
	}
	return c.done
}

func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *callContext) Value(key any) any { return c.values.Value(key) }

// AfterFunc arranges to call f when the context ends; f must not wait. Stop reports whether it
// prevented the call. The context package uses this, instead of a goroutine, for contexts derived
// from this one.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	called := false // guarded by mu
	once := func() {
		c.mu.Lock()
		first := !called
		called = true
		c.mu.Unlock()
		if first {
			f()
		}
	}
	c.mu.Lock()
	ended := c.err != nil
	if !ended {
		c.atEnd = append(c.atEnd, once)
	}
	c.mu.Unlock()
	if ended {
		go once() // the caller may have a lock that f needs
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		first := !called
		called = true
		return first
	}
}

// end ends the context; the first reason counts.
func (c *callContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	atEnd := c.atEnd
	c.atEnd = nil
	c.mu.Unlock()
	for _, f := range atEnd {
		f()
	}
}

// limit ends the context at the given time at the latest, and reports whether that is earlier than
// before: the timer then has to be reset.
func (c *callContext) limit(by time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.deadline.IsZero() && !by.Before(c.deadline) {
		return false
	}
	c.deadline = by
	return true
}

// expiry is one timer for many deadlines. It fires at the first deadline passed to it; an exchange
// that ends in time does not stop it, so on a connection in use it fires about once in a call's
// time limit.
type expiry struct {
	fire func(now time.Time) (next time.Time) // ends calls with a past deadline; returns the first deadline left, or zero

	mu    sync.Mutex // guards the fields below; never held while waiting
	at    time.Time  // when the timer fires, zero if it is not set
	timer *time.Timer
	over  bool
}

// note has the timer fire at a deadline at the latest.
func (e *expiry) note(by time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if by.IsZero() || e.over || !e.at.IsZero() && !by.Before(e.at) {
		return
	}
	e.at = by
	if e.timer == nil {
		e.timer = time.AfterFunc(time.Until(by), func() {
			e.mu.Lock()
			e.at = time.Time{}
			e.mu.Unlock()
			e.note(e.fire(time.Now()))
		})
	} else {
		e.timer.Reset(time.Until(by))
	}
}

// stop stops the timer for good.
func (e *expiry) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.timer != nil {
		e.timer.Stop()
	}
}
