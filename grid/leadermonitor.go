package grid

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// leaderMonitor probes the leader that this member follows, whenever there is a sign that it may have
// ended or be silent. Package leader evaluates the results (Candidacy, Watch).
type leaderMonitor struct {
	*deps

	ownView helloServer
	signs   signal.Signal // the leader may have ended or be silent
	doubts  signal.Signal // another voter had no answer from the leader

	mu    sync.Mutex // guards watch
	watch leader.Monitor
}

// Times for probes. They bound a sign's cost, even if it is wrong.
const (
	// betweenLooks is the pause between two candidacies.
	betweenLooks = 50 * time.Millisecond
	// lookTimeout bounds a call to a leader after a sign, and the calls to the other voters.
	lookTimeout = 250 * time.Millisecond
	// lateBy extends the call timeout: a reply this late still proves that the process is alive.
	lateBy = 500 * time.Millisecond
	// keepOpen is the interval at which a voter calls the leader without a sign, to keep a
	// connection open: a connection without calls ends after 10 s, and a probe that has to dial
	// takes three round trips. A distant leader would seem silent. A leader whose API hangs is
	// noticed by it, and replaced before grants of the default window end.
	keepOpen = 4 * time.Second
)

// sign has the leader looked at soon. It does not block.
func (k *leaderMonitor) sign() { k.signs.Send() }

// run looks at the leader after each sign until ctx ends. A raise of the ceiling that does not come is
// a sign, too.
func (k *leaderMonitor) run(ctx context.Context) {
	late := time.NewTimer(0)
	defer late.Stop()
	open := time.NewTicker(keepOpen)
	defer open.Stop()
	for {
		overdue := leader.RaiseOverdue(k.state.Roster().Settings.Window.Duration())
		wait := overdue - k.state.RaiseAge()
		if wait <= 0 {
			wait = overdue // it was looked at for that
		}
		late.Reset(wait)
		doubted := false
		select {
		case <-ctx.Done():
			return
		case <-k.signs:
		case <-k.doubts:
			doubted = true
		case <-open.C:
			k.keepOpen(ctx)
			continue
		case <-late.C:
			if k.state.RaiseAge() < overdue {
				continue
			}
		}
		k.look(ctx, doubted)
		signal.Sleep(ctx, betweenLooks)
	}
}

// look probes the leader that this member follows, and stands for election if its process has
// ended, or if most voters have no contact with it. doubted means that another voter requested it.
func (k *leaderMonitor) look(ctx context.Context, doubted bool) {
	node := k.raft.Node()
	id := leader.ServerID(node.Leader())
	at, known := leader.MemberOf(k.state.Roster(), id)
	if !known || at.Incarnation == k.self {
		return
	}
	if k.state.Leaving() { // a leaving member does not stand, and others count its last contact
		k.call(ctx, id, at)
		return
	}
	servers, _ := node.Servers()
	candidacy, votes := leader.NewCandidacy(raftlog.ServersOf(servers), leader.ServerID(k.raft.Self()), id)
	if !votes {
		return
	}
	if doubted {
		candidacy.Doubted()
	}
	why := ""
	for next := (leader.Next{Call: true}); ; {
		if next.Tell {
			k.life.Background(func(ctx context.Context) { k.tellDoubt(ctx, candidacy.Voters(), id) })
		}
		signal.Sleep(ctx, next.Pause)
		switch {
		case ctx.Err() != nil || k.raft.Node() != node:
			return
		case next.Call:
			probe := k.call(ctx, id, at)
			next, why = candidacy.RecordProbe(probe), probe.Cause()
		case next.Ask:
			contacts, _ := k.contacts(ctx, candidacy.Voters(), id)
			if next = candidacy.Asked(contacts); next.Stand {
				k.note(func(w *leader.Monitor) { w.RecordSilence(candidacy.Silence(at.Incarnation)) })
				why = candidacy.Reason()
			} else if !k.answered(id, candidacy.Silence(at.Incarnation).Since) {
				k.sign() // it is looked at until it answers, or counts as silent
			}
		case next.Stand:
			k.awaitTurn(ctx, candidacy, id)
			if ctx.Err() != nil || k.raft.Node() != node {
				return
			}
			follows := node.Leader() == string(id)
			if candidacy.Stands(k.clock.Mono(), node.Unheard(), follows) && node.Stand(id) {
				k.log.Info("leader lost; election started", "leader", string(at.Incarnation), "reason", why)
			}
			return
		default:
			return
		}
	}
}

// keepOpen calls the leader, if this member votes. A call without an answer is a sign.
func (k *leaderMonitor) keepOpen(ctx context.Context) {
	node := k.raft.Node()
	id := leader.ServerID(node.Leader())
	at, known := leader.MemberOf(k.state.Roster(), id)
	if !known || at.Incarnation == k.self {
		return
	}
	servers, _ := node.Servers()
	if _, votes := leader.NewCandidacy(raftlog.ServersOf(servers), leader.ServerID(k.raft.Self()), id); votes {
		began := k.clock.Mono()
		if k.call(ctx, id, at).Err == nil {
			return
		}
		k.life.Background(func(ctx context.Context) {
			if signal.Sleep(ctx, lateBy); !k.answered(id, began) {
				k.sign()
			}
		})
	}
}

// awaitTurn waits until the voters before this one have had time to be elected.
func (k *leaderMonitor) awaitTurn(ctx context.Context, candidacy *leader.Candidacy, after leader.ServerID) {
	if candidacy.Turn(0) == 0 {
		return
	}
	began := k.clock.Mono()
	_, farthest := k.contacts(ctx, candidacy.Voters(), after)
	signal.Sleep(ctx, candidacy.Turn(farthest)-(k.clock.Mono()-began))
}

// call looks at a leader once. An answer after lookTimeout is too late for the look, but the watch takes it
// in: a slow leader is not silent.
func (k *leaderMonitor) call(ctx context.Context, id leader.ServerID, at roster.Member) leader.ProbeResult {
	began, done := k.clock.Mono(), make(chan leader.ProbeResult, 1)
	k.life.Background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout+lateBy)
		defer cancel()
		hello, err := helloFrom(ctx, k.caller, at.API, at.Incarnation)
		look := leader.ProbeResult{Began: began, Ended: k.clock.Mono(), Err: err, Leads: hello.Leader != "" &&
			!hello.DiskFailed}
		k.note(func(w *leader.Monitor) { w.RecordProbe(id, look) })
		done <- look
	})
	select {
	case look := <-done:
		return look
	case <-time.After(lookTimeout):
	case <-ctx.Done():
	}
	return leader.ProbeResult{Began: began, Ended: k.clock.Mono(), Err: context.DeadlineExceeded}
}

// note changes or reads the watch.
func (k *leaderMonitor) note(f func(*leader.Monitor)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(&k.watch)
}

// leaderUnheard returns the time since this member's last contact with the leader that it follows.
func (k *leaderMonitor) leaderUnheard(node *raftlog.Node) (d time.Duration) {
	from, byRaft, now := leader.ServerID(node.Leader()), node.Unheard(), k.clock.Mono()
	k.note(func(w *leader.Monitor) { d = w.SilentFor(from, now, byRaft) })
	return d
}

func (k *leaderMonitor) answered(id leader.ServerID, since time.Duration) (is bool) {
	k.note(func(w *leader.Monitor) { is = w.AnsweredSince(id, since) })
	return is
}

// leaderUnanswered returns the time for which a leader has answered no call of this member.
func (k *leaderMonitor) leaderUnanswered(id leader.ServerID) (d time.Duration) {
	now := k.clock.Mono()
	k.note(func(w *leader.Monitor) { d = w.UnansweredFor(id, now) })
	return d
}

// silenceBefore returns the silence of the leader before this member, which leads now.
func (k *leaderMonitor) silenceBefore(node *raftlog.Node) (s leader.Silence) {
	id, byRaft := node.Before()
	before, _ := leader.MemberOf(k.state.Roster(), id)
	k.note(func(w *leader.Monitor) { s = w.TakeSilence(before.Incarnation, byRaft, transport.HeartbeatTimeout) })
	return s
}

// tellDoubt has other voters look at a leader that has not answered this one.
func (k *leaderMonitor) tellDoubt(ctx context.Context, voters []leader.ServerID, of leader.ServerID) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var calls sync.WaitGroup
	for _, id := range voters {
		if at, member := leader.MemberOf(k.state.Roster(), id); member && at.Incarnation != k.self {
			calls.Go(func() {
				in := wire.HelloRequest{Doubts: string(of)}
				if err := k.caller.Call(ctx, at.API, at.Incarnation, wire.PathHello, in, &wire.HelloResponse{}); err != nil {
					k.log.Debug("leader's silence not reported to a voter", "voter", string(at.Incarnation), "error", err)
				}
			})
		}
	}
	calls.Wait()
}

// contacts requests the contact of voters with a leader, concurrently. It omits voters that do not
// reply, or follow another leader. farthest is the longest round trip.
func (k *leaderMonitor) contacts(ctx context.Context, voters []leader.ServerID,
	from leader.ServerID) (out []leader.Contact, farthest time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	type answer struct {
		hello wire.HelloResponse
		err   error
		took  time.Duration
	}
	answers := make([]answer, len(voters))
	var calls sync.WaitGroup
	for i, id := range voters {
		at, member := leader.MemberOf(k.state.Roster(), id)
		if !member {
			answers[i].err = leader.ErrAbsent
			continue
		}
		calls.Go(func() {
			began := k.clock.Mono()
			hello, err := k.viewOf(ctx, at)
			answers[i] = answer{hello, err, k.clock.Mono() - began}
		})
	}
	calls.Wait()
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		farthest = max(farthest, a.took)
		if a.hello.Leader == "" || a.hello.Leader == string(from) {
			out = append(out, leader.Contact{Unheard: a.hello.Unheard.Duration(), Unanswered: a.hello.Unanswered.Duration()})
		}
	}
	return out, farthest
}

// viewOf returns a member's view, which may be this one.
func (k *leaderMonitor) viewOf(ctx context.Context, m roster.Member) (wire.HelloResponse, error) {
	if m.Incarnation == k.self {
		return k.ownView(ctx, wire.HelloRequest{})
	}
	return helloFrom(ctx, k.caller, m.API, m.Incarnation)
}
