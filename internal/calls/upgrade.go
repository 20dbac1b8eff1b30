package calls

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/sequencer"
)

// upgradeRequest returns the request to upgrade a connection to frames.
func (h *HTTP) upgradeRequest(addr string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+addr+frame.Path, nil)
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: %w", err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {frame.Protocol}, "Content-Type": {wire.MsgPack}}
	h.identify(req.Header)
	return req, nil
}

// identify adds this process's release, and its token if it has one.
func (h *HTTP) identify(header http.Header) {
	wire.SetRelease(header)
	if h.creds != nil && h.creds.Token() != "" {
		header.Set("Authorization", "Bearer "+h.creds.Token())
	}
}

// upgrade upgrades a connection to frames.
func (h *HTTP) upgrade(conn net.Conn, addr string, req *http.Request) *attempt {
	_ = conn.SetDeadline(time.Now().Add(upgradeTimeout))
	if err := req.Write(conn); err != nil {
		return refusedUpgrade(addr, h.explainCut(err))
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, req)
	if err != nil {
		return refusedUpgrade(addr, h.explainCut(err))
	}
	switch {
	case res.StatusCode == http.StatusServiceUnavailable:
		data, err := wire.ReadBody(res.Body)
		if err != nil {
			return &attempt{err: unreadable(addr, res.StatusCode, err)}
		}
		return &attempt{err: answered(addr, res.StatusCode, data)}
	case res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Upgrade") != frame.Protocol:
		return &attempt{plain: true}
	}
	if err := wire.CheckRelease(res.Header); err != nil {
		return &attempt{err: failure.Errorf(wire.ErrProtocol, "member at %s: %w", addr, err)}
	}
	_ = conn.SetDeadline(time.Time{})
	return &attempt{conn: frames.NewClient(conn, frames.Rest(conn, in), h.onEnd(addr)), remote: conn.RemoteAddr().String()}
}
