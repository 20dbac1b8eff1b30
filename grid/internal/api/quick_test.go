package api

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/calls/overhttp"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// quickServer is a server whose attaches and replications are served by quick in frames.
type quickServer struct {
	*Server
	life    *tenure.Life
	addr    string
	started atomic.Int64
	shut    atomic.Bool
	charge  func(ctx context.Context, action security.Action, name string) error
	hang    func(ctx context.Context) bool
}

const (
	quickSelf  = "aaaaaaaaaaaaaaaa-0000000000000001"
	quickClaim = "02"
)

func newQuickServer(t *testing.T) *quickServer {
	q := &quickServer{life: tenure.NewLife()}
	clock := handles.NewClock()
	attach := func(ctx context.Context, in wire.AttachRequest) (wire.AttachResponse, error) {
		if q.hang != nil && q.hang(ctx) {
			return wire.AttachResponse{}, sequencer.ErrUnavailable
		}
		if in.Holder == "" {
			return wire.AttachResponse{}, wire.ErrBadRequest
		}
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("an attach has no time limit")
		}
		return wire.AttachResponse{Node: sequencer.NodeID(len(in.Holder)),
			Stamp: wire.Stamp{Version: roster.Version(len(WhoOf(ctx)))}}, nil
	}
	replicate := func(context.Context, member.ReplicateRequest) (member.ReplicateResponse, error) {
		return member.ReplicateResponse{Newest: 7}, nil
	}
	held := state.New(clock, clock)
	held.Apply(&roster.Roster{Grid: roster.GridID{1}, Claim: quickClaim, Anchored: true,
		Members: []roster.Member{{Incarnation: quickSelf}}})
	q.Server = New(Config{
		Self: quickSelf, Grid: func() roster.GridID { return roster.GridID{1} }, State: held, Life: q.life,
		Log: slog.New(slog.DiscardHandler), Library: librarylog.New(slog.New(slog.DiscardHandler), clock.Mono),
		NotReady: func() error { return nil }, NotSettled: func() error { return nil }, Hold: func(<-chan struct{}) {},
		Open: func() bool { return !q.shut.Load() },
		Charge: func(ctx context.Context, action security.Action, name string) error {
			if q.charge != nil {
				return q.charge(ctx, action, name)
			}
			return nil
		},
	}, NewEvents(), []*Call{
		Starting(wire.PathAttach, func(ctx context.Context, in wire.AttachRequest, reply func(wire.AttachResponse, error)) {
			q.note(ctx)
			go func() { reply(attach(ctx, in)) }()
		}),
		Starting(wire.PathReplicate, func(ctx context.Context, in member.ReplicateRequest,
			reply func(member.ReplicateResponse, error)) {
			q.note(ctx)
			reply(replicate(ctx, in))
		}).ForMembers(),
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q.addr = ln.Addr().String()
	served := make(chan struct{})
	go func() { defer close(served); q.Serve(ln) }()
	t.Cleanup(func() { _ = q.Close(); <-served; q.life.Stop() })
	return q
}

// note counts a request that quick serves.
func (q *quickServer) note(ctx context.Context) {
	if _, quick := ctx.(*quickRequest); quick {
		q.started.Add(1)
	}
}

// TestQuickRequestsAreChecked: a request that quick serves has the answer and the count that it
// has over HTTP, and leaves nothing behind.
func TestQuickRequestsAreChecked(t *testing.T) {
	q := newQuickServer(t)
	framed, plain := calls.NewPool(calls.TCP, nil), overhttp.New(nil, q.addr)
	defer framed.Close()
	defer plain.Close()
	asMember := func(target roster.Incarnation, grid string, claim roster.Claim) frame.Head {
		return frame.Head{Target: string(target), Grid: grid, Claim: string(claim)}
	}
	ours := roster.GridID{1}.String()
	attach := wire.AttachRequest{Holder: "h", Claim: wire.Claim{Sequencer: wire.Sequencer{Name: "orders"}}}
	late := &wire.LaterError{Of: sequencer.ErrQuota, After: time.Second, Message: "too many calls"}
	for name, c := range map[string]struct {
		path    string
		head    frame.Head
		in      any
		charge  error
		full    bool
		shut    bool
		started bool
	}{
		"an attach":            {path: wire.PathAttach, in: attach, started: true},
		"an attach that fails": {path: wire.PathAttach, in: wire.AttachRequest{}, started: true},
		"another message":      {path: wire.PathAttach, in: 7},
		"an attach to another": {path: wire.PathAttach, head: asMember("another", "", quickClaim), in: attach},
		"an attach to this member": {path: wire.PathAttach, head: asMember(quickSelf, "", quickClaim), in: attach,
			started: true},
		"too many requests": {path: wire.PathAttach, in: attach, full: true},
		"a quota":           {path: wire.PathAttach, in: attach, charge: late},
		"replicate": {path: wire.PathReplicate, head: asMember(quickSelf, ours, quickClaim),
			in: member.ReplicateRequest{}, started: true},
		"replicate, full": {path: wire.PathReplicate, head: asMember(quickSelf, ours, quickClaim),
			in: member.ReplicateRequest{}, full: true, started: true},
		"replicate at a gate": {path: wire.PathReplicate, head: asMember(quickSelf, ours, quickClaim),
			in: member.ReplicateRequest{}, shut: true},
		"replicate to another": {path: wire.PathReplicate, head: asMember("another", ours, quickClaim),
			in: member.ReplicateRequest{}},
		"of another grid": {path: wire.PathReplicate, head: asMember(quickSelf, "another", quickClaim),
			in: member.ReplicateRequest{}},
		"of another claim": {path: wire.PathReplicate, head: asMember(quickSelf, ours, "01"),
			in: member.ReplicateRequest{}},
		"to no member": {path: wire.PathReplicate, in: member.ReplicateRequest{}},
	} {
		q.charge = func(_ context.Context, action security.Action, name string) error {
			if action != security.Attach || name != "orders" && name != "" {
				t.Errorf("%s of %q is charged", action, name)
			}
			return c.charge
		}
		q.shut.Store(c.shut)
		c.head.Path = c.path
		call := func(do func(in, out any) error) (said string, counted string) {
			before := q.Counts()
			if c.full {
				defer q.Fill()()
			}
			var out any = &wire.AttachResponse{}
			if c.path == wire.PathReplicate {
				out = &member.ReplicateResponse{}
			}
			err := do(c.in, out)
			return fmt.Sprint(out, err), difference(before, q.Counts())
		}
		want, counted := call(func(in, out any) error { return plain.CallWith(t.Context(), c.head, in, out) })
		started := q.started.Load()
		got, also := call(func(in, out any) error { return framed.CallWith(t.Context(), q.addr, c.head, in, out) })
		if got != want || also != counted {
			t.Errorf("%s: %s (%s) in frames, %s (%s) over HTTP", name, got, also, want, counted)
		}
		if did := q.started.Load() > started; did != c.started {
			t.Errorf("%s: started %v", name, did)
		}
	}
	// An answer may arrive before its request has given everything back.
	left := func() (requests, bytes int64) {
		q.bodies.mu.Lock()
		defer q.bodies.mu.Unlock()
		return q.load.requests.Load(), callerBodies - q.bodies.free
	}
	requests, bytes := left()
	for by := time.Now().Add(10 * time.Second); (requests != 0 || bytes != 0) &&
		time.Now().Before(by); requests, bytes = left() {
		time.Sleep(time.Millisecond)
	}
	if requests != 0 || bytes != 0 {
		t.Errorf("%d requests are counted as in progress, %d bytes are charged to no caller", requests, bytes)
	}
}

// difference returns the requests that were counted between two counts.
func difference(before, after Counts) string {
	had := map[RequestCount]uint64{}
	for _, r := range before.Requests {
		had[RequestCount{Path: r.Path, Code: r.Code}] = r.Count
	}
	out := ""
	for _, r := range after.Requests {
		if n := r.Count - had[RequestCount{Path: r.Path, Code: r.Code}]; n > 0 && r.Path != otherPath &&
			r.Path != "/v1/frames" {
			out += fmt.Sprintf("%s %s %d ", r.Path, r.Code, n)
		}
	}
	return out
}

// TestQuickRequestsEnd: the context of a request ends when its caller no longer waits, and a
// request of an earlier tenure is refused.
func TestQuickRequestsEnd(t *testing.T) {
	q := newQuickServer(t)
	h := calls.NewPool(calls.TCP, nil)
	defer h.Close()
	began, ended := make(chan struct{}, 8), make(chan error, 8)
	q.hang = func(ctx context.Context) bool {
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	in := wire.AttachRequest{Holder: "h"}
	if err := h.Call(ctx, q.addr, wire.PathAttach, in, &wire.AttachResponse{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of a request that was given up: %v", err)
	}
	for limit := 50 * time.Millisecond; len(began) == 0; limit *= 2 { // a busy machine sends the request late
		bounded, cancel := context.WithTimeout(t.Context(), limit)
		_ = h.Call(bounded, q.addr, wire.PathAttach, in, &wire.AttachResponse{})
		cancel()
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		t.Errorf("the context of a request with a time limit: %v", err)
	}
	guarded := Starting("", func(_ context.Context, _ member.ReplicateRequest, reply func(wire.Done, error)) {
		reply(wire.Done{}, nil)
	}).ForMembers().ofTenure(q.life)
	var err error
	guarded.start(tenure.NewContext(t.Context(), tenure.NewLife().Tenure()), member.ReplicateRequest{},
		func(_ any, said error) { err = said })
	if !errors.Is(err, wire.ErrNotAddressed) {
		t.Errorf("a call of another tenure: %v", err)
	}
}
