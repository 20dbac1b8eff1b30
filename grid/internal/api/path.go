package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const pathBodyMax = 4 << 10

func (a *Server) handlePath(w http.ResponseWriter, r *http.Request, p membership.Path) {
	r, cancel, err := withDeadline(r)
	if err != nil {
		a.refuseUnread(w, wire.JSON, err)
		return
	}
	defer cancel()
	leave, err := a.load.enter(priorityOf(p.Path), timeLeft(r.Context()))
	if err != nil {
		a.refuseUnread(w, wire.JSON, err)
		return
	}
	defer leave()
	body, err := wire.ReadBody(http.MaxBytesReader(w, r.Body, pathBodyMax))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		err = failure.Errorf(wire.ErrBadRequest, "grid: the body is larger than %d bytes; send less", pathBodyMax)
	}
	if err != nil {
		a.refuseUnread(w, wire.JSON, err)
		return
	}
	ctx, end := context.WithTimeout(r.Context(), ServeTimeout)
	defer end()
	answer, after, err := p.Serve(ctx, body)
	if err != nil {
		a.refuse(w, wire.JSON, err)
		return
	}
	a.answer(w, wire.JSON, http.StatusOK, answer)
	if after != nil {
		_ = http.NewResponseController(w).Flush() // after may end the connection
		after()
	}
}

// isLocal reports whether a request is of a program on this machine that calls the member
// by a loopback address: no proxy's, and no browser's that follows another name.
func isLocal(r *http.Request) bool {
	if r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" {
		return false
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() && wire.IsLoopback(r.Host)
}
