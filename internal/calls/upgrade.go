package calls

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/tcp"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/sequencer"
)

func (p *Pool) upgradeRequest(addr string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, tcp.URL("http", addr, frame.Path), nil)
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: %w", err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {frame.Protocol}, "Content-Type": {wire.MsgPack},
		"User-Agent": {"snowgrid/" + wire.OwnRelease().Build}}
	wire.SetRelease(req.Header)
	if p.creds != nil && p.creds.Token() != "" {
		req.Header.Set("Authorization", "Bearer "+p.creds.Token())
	}
	return req, nil
}

func (p *Pool) upgrade(conn net.Conn, addr string, req *http.Request) *attempt {
	_ = conn.SetDeadline(time.Now().Add(upgradeTimeout))
	if err := req.Write(conn); err != nil {
		return &attempt{err: unreachable(addr, p.explain(err))}
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, req)
	if err != nil {
		return &attempt{err: unreachable(addr, p.explain(err))}
	}
	if err := wire.CheckRelease(res.Header); err != nil {
		return &attempt{err: failure.Errorf(wire.ErrProtocol, "member at %s: %w", addr, err)}
	}
	if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Upgrade") != frame.Protocol {
		return &attempt{err: p.refusedUpgrade(addr, res)}
	}
	_ = conn.SetDeadline(time.Time{})
	return &attempt{conn: frames.NewClient(conn, frames.Rest(conn, in), p.onEnd(addr)), remote: conn.RemoteAddr().String()}
}

// refusedUpgrade returns the error in a reply that is not an upgrade: a member's own error, such as
// one about too many connections, or the likely cause of another server's reply.
func (p *Pool) refusedUpgrade(addr string, res *http.Response) error {
	data, err := wire.ReadBody(res.Body)
	var e wire.Error
	if err == nil && wire.DecodeTolerant(wire.MsgPack, data, &e) == nil && e.Code != "" {
		return e.Unwire()
	}
	err = fmt.Errorf("HTTP status %d instead of an upgrade to %s", res.StatusCode, frame.Protocol)
	return unreachable(addr, p.explain(err))
}
