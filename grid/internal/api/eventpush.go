package api

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// pushed is an outlet in frames: an event goes into the connection's queue as it is published,
// so that a holder which waits for events costs its member no goroutine.
type pushed struct {
	request *quickRequest
	ended   atomic.Bool // by this member, not by the caller

	mu    sync.Mutex // guards begun, and orders the events; never held while waiting
	begun bool
}

// pushEvents opens an event stream without a goroutine, with the checks in handleEvents. It leaves
// callers with tokens to handleEvents, since their streams end with the token.
func (f *framedRequests) pushEvents(r *frames.Request) (taken bool) {
	a, by, length := f.server, f.caller(), int64(r.Head.Length)
	if c, known := by.(caller); !known || c.token || length > smallBody || f.conn.refusal != nil ||
		!f.conn.takeBody(length) {
		return false
	}
	q := f.newQuick(r, opening, by)
	defer f.recovered(r)
	in, err := q.admitEvents()
	if err != nil {
		q.reply(nil, err)
		return true
	}
	leave, err := f.conn.openStream(a.events, PeerOf(q).ID)
	if err != nil {
		a.counts.shedStreams.Add(1)
		q.reply(nil, err)
		return true
	}
	f.conn.releaseBody(length)
	s := &pushed{request: q}
	a.events.enter(in.Holder, s)
	q.AfterFunc(func() {
		a.events.leave(in.Holder, s)
		leave()
		a.counts.countRequest(wire.PathEvents, codeOK)
		gone := !s.ended.Load()
		q.end(!gone, true)
		if gone {
			f.conn.givenUp()
		}
	})
	return true
}

// admitEvents checks a request for an event stream, and decodes it.
func (q *quickRequest) admitEvents() (in wire.EventsRequest, err error) {
	row, _ := accessOf(http.MethodPost, wire.PathEvents)
	if err := Authorize(q, q.of.server.cfg.Audit, row.action, ""); err != nil {
		return in, err
	}
	q.read = true
	out, err := q.call.decode(wire.MsgPack, q.request.Inline)
	if err != nil {
		return in, fmt.Errorf("grid: %w", err)
	}
	in, _ = out.(wire.EventsRequest) // decode returns nothing else
	return in, wire.CheckHolder(in.Holder)
}

func (s *pushed) put(event wire.Event) {
	if !s.concerns(event) {
		return
	}
	var part bytes.Buffer
	err := wire.WriteEvent(&part, event)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && !s.begun:
		s.begun = true
		s.request.request.Begin(http.StatusOK, part.Bytes())
	case err != nil || !s.request.request.Push(part.Bytes()):
		go s.end() // the caller has a lock that the end takes
	}
}

// concerns reports whether the caller may receive an event: it may have attached under another
// certificate.
func (s *pushed) concerns(event wire.Event) bool {
	return event.Name == "" || PeerOf(s.request).MayUse(event.Name)
}

func (s *pushed) end() {
	s.ended.Store(true)
	s.request.request.End()
}
