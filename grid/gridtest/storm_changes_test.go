package gridtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// changeSettings changes one setting at any member. The window only grows, and the next life of a grid
// without disks has it from its configuration.
func (s *storm) changeSettings() string {
	member := s.pick(s.g.Running())
	if member == "" {
		return ""
	}
	var body string
	switch n := s.rng.IntN(3); {
	case n == 0:
		body = fmt.Sprintf(`{"backups":%d}`, s.rng.IntN(4))
	case n == 1 || !s.durable:
		body = fmt.Sprintf(`{"voters":%d}`, 1+2*s.rng.IntN(4))
	default:
		s.window += time.Duration(s.rng.IntN(3000)) * time.Millisecond
		body = fmt.Sprintf(`{"window_ms":%d}`, s.window.Milliseconds())
	}
	s.note("settings", member+" "+body)
	status, answer := s.request(member, http.MethodPost, "localhost:7948", wire.PathSettings, body)
	if status != http.StatusOK {
		s.note("settings refused: "+answer, member)
		return "settings refused"
	}
	return "settings"
}

// remove removes a member, which may run, or forgets the disk of a member that does not run. The
// member may start again with its disk.
func (s *storm) remove() string {
	if !s.durable {
		return ""
	}
	if s.rng.IntN(3) > 0 { // an operator looks at a grid that is well
		s.calm()
		time.Sleep(time.Duration(s.rng.IntN(15_000)) * time.Millisecond)
	}
	for _, name := range s.g.Running() {
		if in := s.g.Member(name).Status().Answering; in != "" {
			s.memberIDs[name] = roster.Incarnation(in).Member()
		}
	}
	by, name := s.pick(s.g.Running()), s.pick(s.allNames())
	id, runs := s.memberIDs[name], slices.Contains(s.g.Running(), name)
	if by == "" || id == "" {
		return ""
	}
	what, path, in, out := "removal", wire.PathRemove, any(wire.RemoveRequest{Member: id}), any(&wire.RemoveResponse{})
	if !runs && s.rng.IntN(2) == 0 {
		what, path, in, out = "forgotten disk", wire.PathForget, wire.ForgetRequest{Member: id}, &wire.ForgetResponse{}
	}
	s.note(what, name+" at "+by)
	operator := calls.NewPool(s.g.Network.Host("operator").Dial, s.g.Load(security.Admin))
	defer operator.Close()
	head := frame.Head{Path: path, Target: s.g.Member(by).Status().Answering}
	if err := operator.CallWith(within(s.t, 10*time.Second), s.host(by)+":7948", head, in, out); err != nil {
		s.note(what+" refused: "+err.Error(), name)
		return what + " refused"
	}
	if runs { // it leaves by itself
		time.Sleep(time.Duration(s.rng.IntN(4000)) * time.Millisecond)
		if s.rng.IntN(2) == 0 {
			s.crash("crash of a removed one", name)
		} else {
			s.leave("leave of a removed one", name)
		}
	}
	return what
}

// generate makes IDs under grants over HTTP, whose replies may be lost. A grant may be released, and
// former grants are sent late.
func (s *storm) generate(host string, rng *rand.Rand) {
	began, name := time.Now(), s.names[rng.IntN(2)]
	at := func() int64 { return time.Since(began).Milliseconds() }
	ids, rules := s.ids.caller(host), grants.New(rng.Int64N)
	var former []string
	for s.load.ctx.Err() == nil {
		if due, ready := rules.Due(); ready && due <= at() {
			in := wire.GrantRequest{Grant: rules.Request(at())}
			if in.Grant == "" {
				in.Name, in.Create = name, &wire.IDsCreate{Nodes: 128}
			}
			reply, refused := s.grant(host, http.MethodPost, in, rng)
			if reply.Grant == "" || rng.IntN(8) == 0 { // the reply is lost
				rules.Refused(at(), refused)
			} else {
				rules.Replied(at(), reply)
				former = append(former, reply.Grant)
			}
		}
		ends := rng.IntN(60)
		for range rng.IntN(5) {
			id, _, err := rules.Next(at())
			if err != nil {
				ends = 0
			}
			if id == 0 {
				break
			}
			ids.noteID(name, sequencer.ID(id))
		}
		switch {
		case ends < 2: // the process ends, and another one begins
			if grant, last := rules.Release(); grant != "" && ends == 0 {
				s.grant(host, http.MethodDelete, wire.GrantRelease{Grant: grant, Last: new(clustertime.Tick(last))}, rng)
			}
			ids, rules = s.ids.caller(host), grants.New(rng.Int64N)
		case ends < 5 && len(former) > 0:
			s.grant(host, http.MethodPost, wire.GrantRequest{Grant: former[rng.IntN(len(former))]}, rng)
		}
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
	}
}

// grant makes a request about a grant at any member that may run.
func (s *storm) grant(host, method string, in any, rng *rand.Rand) (reply grants.Reply, refused grants.Refusal) {
	body, err := json.Marshal(in)
	ok(s.t, "encode", err)
	names := s.allNames()
	addr := s.host(names[rng.IntN(len(names))]) + ":7948"
	status, answer := s.request(host, method, addr, wire.PathGrants, string(body))
	switch {
	case status == http.StatusOK:
		ok(s.t, "decode a grant", json.Unmarshal([]byte(answer), &reply))
	case status != 0:
		ok(s.t, "decode an error", json.Unmarshal([]byte(answer), &refused))
	}
	s.note(fmt.Sprintf("%s of a grant: %d %s", method, status, refused.Code), "")
	return reply, refused
}

// request makes one HTTP request, which the faults may end: its status is 0 then.
func (s *storm) request(from, method, addr, path, body string) (status int, answer string) {
	transport, scheme := httpFrom(s.g, from)
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, scheme+addr+path, strings.NewReader(body))
	ok(s.t, "request", err)
	req.Header.Set("Content-Type", wire.JSON)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(data)
}
