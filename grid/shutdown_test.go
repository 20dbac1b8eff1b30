package grid_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/raftlogtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/sequencer"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shutdownState is a state in which a member is ended.
type shutdownState struct {
	members int
	durable bool
	// prepare brings a grid that has just started into the state, and returns the member to end.
	prepare func(t *testing.T, g *gridtest.Grid) string
	// open bounds a Leave without a deadline; 0 = shutdownMost.
	open time.Duration
}

// Bounds of calls that end a member.
const (
	// shutdownMost bounds Close in every state, and Leave if the others can agree immediately.
	shutdownMost = 5 * time.Second
	// withoutMajority bounds a Leave without a deadline that no majority can agree on: a window, and
	// the time of Close.
	withoutMajority = 15*time.Second + closeMost
	// voteNeeded bounds a Leave without a deadline of a voter that the others need for a majority, because
	// a voter beside it is silent. The leader holds such a member back for 10 s.
	voteNeeded = 12 * time.Second
	// closeMost is the time that Close takes at most: memberlist and Raft wait for calls that have begun.
	closeMost = 2500 * time.Millisecond
)

// follower returns a running member that does not lead.
func follower(g *gridtest.Grid) string {
	leads := g.Leader()
	return slices.DeleteFunc(g.Running(), func(name string) bool { return name == leads })[0]
}

var shutdownStates = map[string]shutdownState{
	"first window": {members: 3, prepare: func(_ *testing.T, g *gridtest.Grid) string { return follower(g) }},
	"leader": {members: 3, durable: true,
		prepare: func(_ *testing.T, g *gridtest.Grid) string { return g.Leader() }},
	"follower": {members: 3, durable: true, prepare: func(_ *testing.T, g *gridtest.Grid) string { return follower(g) }},
	"learner": {members: 8, prepare: func(t *testing.T, g *gridtest.Grid) string {
		for range 600 {
			for _, name := range g.Running() {
				if g.Member(name).IsLearner() {
					return name
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatal("no learner")
		return ""
	}},
	"without a majority": {members: 3, durable: true, open: withoutMajority,
		prepare: func(_ *testing.T, g *gridtest.Grid) string {
			stays := follower(g)
			g.Crash(slices.DeleteFunc(g.Running(), func(name string) bool { return name == stays })...)
			return stays
		}},
	// The other one stays, so that the member does not leave as the last one does.
	"without a majority of five": {members: 5, durable: true, open: withoutMajority,
		prepare: func(_ *testing.T, g *gridtest.Grid) string {
			victim := follower(g)
			others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == victim })
			g.Crash(others[:3]...)
			return victim
		}},
	"leader that lost its majority": {members: 3, durable: true, open: withoutMajority,
		prepare: func(_ *testing.T, g *gridtest.Grid) string {
			stays := g.Leader()
			g.Crash(slices.DeleteFunc(g.Running(), func(name string) bool { return name == stays })...)
			return stays
		}},
	"cut off": {members: 3, open: withoutMajority, prepare: func(_ *testing.T, g *gridtest.Grid) string {
		victim := follower(g)
		for _, name := range g.Running() {
			if name != victim {
				g.Network.Cut(victim, name)
			}
		}
		return victim
	}},
	"disk failed": {members: 3, durable: true, open: withoutMajority,
		prepare: func(t *testing.T, g *gridtest.Grid) string {
			victim := follower(g)
			raftlogtest.FailWrites(g.Member(victim).Disk(), raftlogtest.Append)
			raftlogtest.AwaitBroken(t, g.Member(victim).Disk())
			return victim
		}},
	"disk of the leader failed": {members: 3, durable: true, open: withoutMajority,
		prepare: func(t *testing.T, g *gridtest.Grid) string {
			victim := g.Leader()
			raftlogtest.FailWrites(g.Member(victim).Disk(), raftlogtest.Append)
			raftlogtest.AwaitBroken(t, g.Member(victim).Disk())
			return victim
		}},
	"leaving": {members: 3, durable: true, prepare: func(_ *testing.T, g *gridtest.Grid) string {
		victim := follower(g)
		go func() { _ = g.Member(victim).Leave(context.Background()) }()
		time.Sleep(30 * time.Millisecond)
		return victim
	}},
	"all leaving": {members: 3, durable: true, prepare: func(_ *testing.T, g *gridtest.Grid) string {
		victim := follower(g)
		for _, name := range g.Running() {
			go func() { _ = g.Member(name).Leave(context.Background()) }()
		}
		time.Sleep(30 * time.Millisecond)
		return victim
	}},
	"removed by an operator": {members: 3, durable: true, prepare: func(t *testing.T, g *gridtest.Grid) string {
		victim := follower(g)
		h := calls.NewPool(g.Network.Host("operator").Dial, nil)
		defer h.Close()
		leads := g.Leader()
		head := frame.Head{Path: wire.PathRemove, Target: g.Member(leads).Status().Answering}
		id := roster.Incarnation(g.Member(victim).Status().Answering).Member()
		if err := h.CallWith(t.Context(), leads+":7948", head, wire.RemoveRequest{Member: id},
			&wire.RemoveResponse{}); err != nil {
			t.Fatal(err)
		}
		return victim
	}},
	"electing": {members: 3, durable: true, open: voteNeeded, prepare: func(_ *testing.T, g *gridtest.Grid) string {
		victim := follower(g)
		g.Network.Pause(g.Leader())
		time.Sleep(1200 * time.Millisecond)
		return victim
	}},
	"pushing": {members: 3, durable: true, open: voteNeeded, prepare: func(_ *testing.T, g *gridtest.Grid) string {
		g.Network.Pause(follower(g))
		time.Sleep(1500 * time.Millisecond) // a raise is pushed to it
		return g.Leader()
	}},
	"alone": {members: 1, durable: true, prepare: func(_ *testing.T, g *gridtest.Grid) string { return g.Leader() }},
}

// post makes a request of a member's own API, from its host.
func post(g *gridtest.Grid, member, path, body string) error {
	host := g.Network.Host(member)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn,
		error) {
		return host.Dial(ctx, addr)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost:7948"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", wire.JSON)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// shutdownCall ends a member, or begins to, and returns within limit.
type shutdownCall struct {
	do func(g *gridtest.Grid, name string, m *grid.Member) error
	// limit bounds the call; 0 = the state's bound of a Leave without a deadline.
	limit time.Duration
}

// leaveWithin is a Leave whose context ends after d; then the member is closed.
func leaveWithin(d time.Duration) shutdownCall {
	return shutdownCall{func(_ *gridtest.Grid, _ string, m *grid.Member) error {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		return m.Leave(ctx)
	}, d + closeMost}
}

var (
	callClose = shutdownCall{func(_ *gridtest.Grid, _ string, m *grid.Member) error { return m.Close() }, shutdownMost}
	callLeave = leaveWithin(shutdownMost)
	// callLeaveShort has little time.
	callLeaveShort = leaveWithin(300 * time.Millisecond)
	// callLeaveOpen has no deadline.
	callLeaveOpen = shutdownCall{func(_ *gridtest.Grid, _ string, m *grid.Member) error {
		return m.Leave(context.Background())
	}, 0}
	// callUnsubscribe has the member leave in the background.
	callUnsubscribe = shutdownCall{func(g *gridtest.Grid, name string, _ *grid.Member) error {
		_ = post(g, name, membership.PathUnsubscribe, "") // refused once the member has ended
		return nil
	}, shutdownMost}
)

// shutdowns are the combinations of calls, in the order in which they begin.
var shutdowns = map[string][]shutdownCall{
	"close":                        {callClose},
	"leave":                        {callLeave},
	"leave, no deadline":           {callLeaveOpen},
	"leave, little time":           {callLeaveShort},
	"leave twice":                  {callLeave, callLeaveOpen},
	"leave, close":                 {callLeaveOpen, callClose},
	"close, leave":                 {callClose, callLeave},
	"unsubscribe":                  {callUnsubscribe},
	"unsubscribe, leave":           {callUnsubscribe, callLeave},
	"leave, unsubscribe, close":    {callLeaveOpen, callUnsubscribe, callClose},
	"unsubscribe twice, close":     {callUnsubscribe, callUnsubscribe, callClose},
	"leave twice, close, leave":    {callLeaveOpen, callLeave, callClose, callLeaveOpen},
	"close twice, leave, and REST": {callClose, callClose, callLeaveOpen, callUnsubscribe},
}

// pauses are the times between the calls of a combination.
var pauses = []time.Duration{0, 80 * time.Millisecond, time.Second}

// TestShutdown ends members in every state by combinations of calls, from goroutines of their own. Each
// call returns in time, and the member has ended then. By default it tries some
// combinations, with -long all.
func TestShutdown(t *testing.T) {
	long.NotShort(t, "it shuts members down in some hundred ways")
	t.Parallel()
	n := 0
	for _, name := range slices.Sorted(maps.Keys(shutdownStates)) {
		var took sync.Map
		t.Run(name, func(t *testing.T) {
			for _, combination := range slices.Sorted(maps.Keys(shutdowns)) {
				for j, pause := range pauses {
					if n++; !long.Enabled() && n%19 != 0 || j > 0 && len(shutdowns[combination]) == 1 {
						continue
					}
					t.Run(fmt.Sprint(combination, " after ", pause), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							longest := shutDown(t, shutdownStates[name], shutdowns[combination], pause)
							if before, _ := took.LoadOrStore("", longest); before.(time.Duration) < longest {
								took.Store("", longest)
							}
						})
					})
				}
			}
		})
		if longest, tried := took.Load(""); tried {
			t.Logf("%-30s longest call %v", name, longest)
		}
	}
}

// shutDown brings a grid into a state and makes the calls, and returns the duration of the longest.
func shutDown(t *testing.T, state shutdownState, calls []shutdownCall, pause time.Duration) (longest time.Duration) {
	g := gridtest.Start(t, gridtest.Config{Members: state.members, Durable: state.durable})
	victim := state.prepare(t, g)
	m := g.Member(victim)
	var all sync.WaitGroup
	var mu sync.Mutex
	open := cmp.Or(state.open, shutdownMost)
	for i, call := range calls {
		limit := cmp.Or(call.limit, open)
		for j, later := range calls[i+1:] { // it ends the ones before
			limit = min(limit, cmp.Or(later.limit, open)+time.Duration(j+1)*pause)
		}
		all.Go(func() {
			began := time.Now()
			err := call.do(g, victim, m)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if longest = max(longest, took); took > limit {
				t.Errorf("call %d took %v: %v", i+1, took, err)
			}
			if err != nil && !errors.Is(err, sequencer.ErrClosed) && !errors.Is(err, sequencer.ErrUnavailable) {
				t.Errorf("call %d: %v", i+1, err)
			}
		})
		time.Sleep(pause)
	}
	returned := make(chan struct{})
	go func() { all.Wait(); close(returned) }()
	select {
	case <-returned:
	case <-time.After(time.Minute):
		t.Error("a call has not returned")
		_ = m.Close()
		<-returned
	}
	select {
	case <-m.Done():
	case <-time.After(open + closeMost):
		t.Error("the member has not ended")
	}
	g.Network.HealAll()
	return longest
}

// TestShutdownWhileStarting: a start that is cancelled returns in time, whatever it waits for.
func TestShutdownWhileStarting(t *testing.T) {
	for name, c := range map[string]struct {
		expect int
		anchor store.Store
	}{
		"for other members": {expect: 3}, "for an anchor": {expect: 1, anchor: silentStore{store.NewMemory()}},
		"first step": {expect: 1},
	} {
		for _, after := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond, 10 * time.Second} {
			t.Run(fmt.Sprint(name, " for ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := gridtest.New(t, gridtest.Config{Members: c.expect,
						Change: func(_ string, cfg *grid.Config) { cfg.Anchor = c.anchor }})
					ctx, cancel := context.WithTimeout(t.Context(), after)
					defer cancel()
					began := time.Now()
					err := g.TryMember(ctx, "m1")
					if took := time.Since(began); took > after+5*time.Second {
						t.Errorf("returned after %v: %v", took, err)
					}
					if err != nil && !errors.Is(err, sequencer.ErrUnavailable) {
						t.Error(err)
					}
				})
			})
		}
	}
}

// silentStore is an anchor whose calls have no answer.
type silentStore struct{ *store.Memory }

// Load implements store.Store.
func (silentStore) Load(ctx context.Context, _ string) (store.Entry, error) {
	<-ctx.Done()
	return store.Entry{}, ctx.Err()
}

// Swap implements store.Store.
func (silentStore) Swap(ctx context.Context, _ store.Entry) (store.Revision, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
