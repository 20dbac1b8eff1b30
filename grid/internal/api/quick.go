package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// quick serves a framed request with a call that need not wait, without a goroutine and without HTTP's
// forms. It applies the checks, counts and limits in arriving, counting, routes.ServeHTTP, handle and
// read in the same order; TestQuickRequestsAreChecked compares the two. It leaves to them each request
// that might wait: for a large body, for memory, or for a closed gate.
func (f *framedRequests) quick(r *frames.Request) (taken bool) {
	a := f.server
	if r.Head.Path == wire.PathEvents {
		return f.pushEvents(r)
	}
	c := a.calls[r.Head.Path]
	length := int64(r.Head.Length)
	switch {
	case c == nil || c.start == nil || c.large || length > smallBody || f.conn.refusal != nil:
		return false
	case c.target && a.cfg.Open != nil && !a.cfg.Open():
		return false
	case !c.target && !f.conn.takeBody(length):
		return false
	}
	q := f.newQuick(r, c, f.caller())
	defer f.recovered(r)
	in, err := q.admit()
	if err != nil {
		q.reply(nil, err)
		return true
	}
	r.Limit(time.Now().Add(ServeTimeout))
	c.start(q, in, q.reply)
	return true
}

func (f *framedRequests) newQuick(r *frames.Request, c *Call, by any) *quickRequest {
	length := int64(r.Head.Length)
	q := &quickRequest{of: f, call: c, request: r, end: f.conn.begin(length), read: length == 0, caller: by,
		tenure: f.server.cfg.Life.Tenure()}
	q.endingContext, _ = r.Context().(endingContext)
	return q
}

// caller returns who makes the requests of the connection, a caller.
func (f *framedRequests) caller() any {
	if f.server.cfg.Security == nil {
		return everyone
	}
	header := ""
	if len(f.authorization) > 0 {
		header = f.authorization[0]
	}
	return f.server.callerOf(f.conn, header)
}

// endingContext is the context of a request in frames. Functions that run after it must not wait.
type endingContext interface {
	context.Context
	AfterFunc(f func()) (stop func() bool)
}

// quickRequest is a request that quick serves, and its context.
type quickRequest struct {
	endingContext

	of      *framedRequests
	call    *Call
	request *frames.Request
	end     func(answered, read bool)
	read    bool   // its body was
	leave   func() // ends its admission; nil before it
	caller  any    // a caller
	tenure  *tenure.Tenure
}

var everyone any = caller{peer: security.Everyone()}

func (q *quickRequest) admit() (in any, err error) {
	a, c, head := q.of.server, q.call, &q.request.Head
	row, _ := accessOf(http.MethodPost, head.Path)
	if err := Authorize(q, a.cfg.Audit, row.action, ""); err != nil {
		return nil, err
	}
	if head.Timeout > 0 {
		q.request.Limit(time.Now().Add(min(time.Duration(head.Timeout)*time.Millisecond, bodyTimeout+ServeTimeout)))
	}
	if c.target || head.Target != "" {
		if err := a.addressed(head.Target, head.Grid, head.Claim, c); err != nil {
			return nil, err
		}
	}
	if !c.target {
		if q.leave, err = a.load.enter(priorityOf(c.path), timeLeft(q)); err != nil {
			return nil, err
		}
	}
	q.read = true
	if err := q.Err(); err != nil {
		return nil, fmt.Errorf("grid: %w", err)
	}
	if in, err = c.decode(wire.MsgPack, q.request.Inline); err != nil {
		return nil, fmt.Errorf("grid: %w", err)
	}
	if PeerOf(q).Role != security.Member {
		in = c.unrelayed(in)
	}
	return in, a.authorizeUses(q, http.MethodPost, head.Path, in)
}

var answers = sync.Pool{New: func() any { return new(make([]byte, 0, 512)) }}

func (q *quickRequest) reply(out any, err error) {
	a, status, code := q.of.server, http.StatusOK, codeOK
	if err != nil {
		e := wire.ErrorOf(err, a.cfg.State.Roster().Version)
		out, status, code = e, e.Status(), e.Code
	}
	buf := answers.Get().(*[]byte)
	body, err := wire.AppendMsgPack((*buf)[:0], out)
	if err != nil {
		a.cfg.Log.Error("answer not encoded", "error", err)
		status, body = http.StatusInternalServerError, nil
	}
	a.counts.countRequest(q.request.Head.Path, code)
	gone := errors.Is(q.Err(), context.Canceled)
	q.request.Answer(status, body)
	*buf = body[:0]
	answers.Put(buf)
	if q.leave != nil {
		q.leave()
	}
	if !q.call.target {
		q.of.conn.releaseBody(int64(q.request.Head.Length))
	}
	q.end(!gone, q.read)
	if gone {
		q.of.conn.givenUp()
	}
}

func (q *quickRequest) Value(key any) any {
	switch key.(type) {
	case callerKey:
		return q.caller
	case whoKey:
		return whoIs(RemoteOf(q.endingContext), PeerOf(q))
	case tenure.Key:
		return q.tenure
	}
	return q.endingContext.Value(key)
}
