package grid_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	pki "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The attacks on a grid with security on. Each is made by every attacker whose credential
// does not allow it; see attackersOf. Each is refused with the error of that attacker, has
// a line in the audit log, and changes nothing: leader, members, owners and terms stay, honest
// holders get their IDs without a gap, none of them twice, and memory is that of before.
//
//	attack                                                        with security on               without
//	attach: claim of an earlier life of the grid                  TestAttackAnothersName,        TestClaimsOfEarlierLivesMoveLittle
//	                                                              TestAttackByAnEarlierLife
//	Raft: entries, votes, pre-votes, snapshot, term 2^64-1        TestAttackRaft                 TestForgedRaftTermEndsNothing
//	Raft: entries over which Raft panics                          TestAttackRaft                 TestHostileRaftEntriesEndNoProcess
//	Raft: a higher term each 250 ms, TimeoutNow 20 times          TestAttackRaftRepeated         TestRaftStrangersDoNotDisturbTheLead
//	replicate an empty table, then leave of the owner             TestAttackTableAndGoodbye      TestForgedTableAndForgedGoodbye
//	replicate, last term, all partitions, all members             TestAttackTermsOfPartitions    TestForgedTermsOfPartitionsEndNothing
//	leave of others                                               TestAttackTableAndGoodbye      TestOnlyTheSenderLeaves
//	joins of members that do not exist; probes of addresses       TestAttackJoins                TestJoinsOfNobodyDoNotCount
//	accept: other settings, no bootstrap member                   TestAttackMemberCalls          TestForgedAcceptanceEndsNoStart, TestAcceptanceLapses
//	earlier, held, stored, collect, dismiss, abandon              TestAttackMemberCalls          TestClaimsOfEarlierLivesMoveLittle
//	init, forget, remove, take-anchor, settings, numbers          TestAttackMemberCalls          -
//	subscribe and unsubscribe                                     TestAttackMembership           -
//	gossip: dead of 2^32-1, 5,000 members, clear text, other key  TestAttackGossip               TestGossipCannotMakeTheLeaderInvisible, TestForgedGossipChangesNothing
//	destroy of another's name                                     TestAttackAnothersName         -
//	attach that shows another life, born 2^64-1                   TestAttackAnothersName         TestClaimsOfEarlierLivesMoveLittle
//	attaches of every node of a name                              TestAttackManyAttaches         -
//	many names, by create and by /v1/ids                          TestAttackManyNames            TestHandlesOfIDsAreBounded
//	posts of other origins, posts without a Content-Type          TestAttackFromABrowser         TestCrossOrigin
//	paths, methods, hosts and headers in other forms              TestAttackByOtherWaysToAPath   -
//	paths without a check                                         TestAttackPathsWithoutACheck   -
//	a holder that answers as a member                             TestAttackAnsweringAsAMember   -
//
// Floods of connections, of streams and of bytes are in proof/attack and hostile_test.go.
// TestAttackProcesses in cmd/snowgrid does the same to processes.

// besieged is a grid with security on, with an honest holder, under attack.
type besieged struct {
	t         *testing.T
	g         *gridtest.Grid
	audit     *auditLines
	authority *pki.Authority
	attackers []*evil.Attacker
	ids       *issuing // of the victim's name
	before    string
	memory    int64
}

// victimName is a name that no attacker may use; those with a certificate may use ownName.
const (
	victimName = "bills"
	ownName    = "orders-1"
)

// underAttack runs a test in a bubble, against a secured grid of three members. With -long no other test runs at
// the same time, and the memory of the process is compared as well.
func underAttack(t *testing.T, durable bool, attack func(t *testing.T, b *besieged)) {
	t.Helper()
	if !long.Enabled() {
		t.Parallel()
	}
	synctest.Test(t, func(t *testing.T) {
		b := &besieged{t: t, audit: &auditLines{}}
		b.g = gridtest.Start(t, gridtest.Config{
			Members: 3, Durable: durable, Secured: true, Logger: slog.New(slog.NewJSONHandler(b.audit, nil)),
			Change: func(_ string, c *grid.Config) { c.FirstLife = true },
		})
		var err error
		dir := b.g.Secrets().Authority()
		b.authority, err = pki.Load(filepath.Join(dir, security.AuthorityFile), filepath.Join(dir, security.AuthorityKeyFile))
		if err != nil {
			t.Fatal(err)
		}
		attackers, err := attackersOf(b.authority, gridtest.Now(), "orders-*")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attackers {
			a.Dial = b.g.Network.Host("evil").Dial
			if a.TLS != nil {
				a.TLS.Time = gridtest.Now
			}
		}
		b.attackers = attackers
		s, err := b.client("web", victimName).CreateSequencer(t.Context(), victimName, sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		b.ids = &issuing{t: t, ids: s, seen: map[int64]bool{}}
		b.ids.during(2*time.Second, "before")
		b.before, b.memory = b.state(), heap()
		attack(t, b)
	})
}

// client returns a thin client with a holder's certificate for names.
func (b *besieged) client(host string, names ...security.Pattern) *client.Client {
	b.t.Helper()
	c, err := b.g.TryClient(host, b.g.Credentials(security.Holder, names...))
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// newcomer returns another honest holder of the victim's name. Its IDs are none of the
// first one's.
func (b *besieged) newcomer(host string) *issuing {
	b.t.Helper()
	s, err := b.client(host, victimName).OpenSequencer(b.t.Context(), victimName)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := s.AttachLogicalNode(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return &issuing{t: b.t, ids: s, seen: b.ids.seen}
}

// target returns a member as its status shows it.
func (b *besieged) target(name string) evil.Target {
	m := b.g.Member(name)
	s := m.Status()
	return evil.Target{
		API: m.Addrs().API, Raft: m.Addrs().Raft, Grid: s.Grid, Member: roster.Incarnation(s.Answering),
		Server: string(serverOf(b.g, name)),
	}
}

// state is the state that no attack may change.
func (b *besieged) state() string {
	b.t.Helper()
	s := b.g.Member("m1").Status()
	var members, names []string
	for _, m := range s.Members {
		members = append(members, m.Incarnation)
	}
	for _, name := range b.g.Running() {
		for _, q := range b.g.Member(name).Status().Sequencers {
			names = append(names, q.Name+" "+q.Life)
		}
	}
	slices.Sort(names)
	text, err := json.Marshal([]any{b.g.Leader(), s.Grid, s.Settings, members, names, s.Partitions})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// withstood checks for some time after an attack that it changed nothing.
func (b *besieged) withstood(what string) {
	b.t.Helper()
	b.ids.during(20*time.Second, "after "+what)
	if now := b.state(); now != b.before {
		b.t.Errorf("%s: before\n%.2000s\nafter\n%.2000s", what, b.before, now)
	}
	b.checkMemory(what)
}

// checkMemory checks with -long that an attack has left no memory in use.
func (b *besieged) checkMemory(what string) {
	b.t.Helper()
	if !long.Enabled() {
		return
	}
	if grew := heap() - b.memory; grew > 64<<20 {
		b.t.Errorf("%s: the heap grew by %d MiB", what, grew>>20)
	}
}

// heap returns the bytes in use by this process: members and attackers. Without -long it returns 0, since
// other tests run.
func heap() int64 {
	if !long.Enabled() {
		return 0
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// blow is one request of an attack.
type blow struct {
	what   string
	action security.Action
	// named says that the request is about a name that no attacker may use, so that no
	// role suffices.
	named  bool
	strike func(a *evil.Attacker) error
}

// attack has every attacker strike, and wants each of them refused, with a line in the audit
// log for those that members can tell apart.
func (b *besieged) attack(what string, blows ...blow) {
	b.t.Helper()
	for _, a := range b.attackers {
		for _, blow := range blows {
			if a.May(blow.action) && !blow.named {
				continue
			}
			before := b.audit.denied(b.t, blow.action)
			if err := blow.strike(a); !a.IsRefusal(err) {
				b.t.Errorf("%s, %s %s by %s is answered with: %v", what, blow.action, blow.what, a.Name, err)
			}
			if a.Identified() && b.audit.denied(b.t, blow.action) == before {
				b.t.Errorf("%s, %s %s by %s has no line in the audit log", what, blow.action, blow.what, a.Name)
			}
			time.Sleep(50 * time.Millisecond) // the audit log has bounds
		}
	}
	b.withstood(what)
}

// identified returns the attackers with a certificate of one role.
func (b *besieged) identified(role security.Role) *evil.Attacker {
	return b.attackers[slices.IndexFunc(b.attackers, func(a *evil.Attacker) bool { return a.Role == role })]
}

// auditLines collects what members log.
type auditLines struct {
	mu     sync.Mutex
	text   bytes.Buffer
	counts map[string]int // of denied actions
}

// Write implements io.Writer.
func (l *auditLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// denied counts the lines of an action that was denied.
func (l *auditLines) denied(t *testing.T, action security.Action) int {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	for line := range bytes.Lines(l.text.Bytes()) {
		var fields struct{ Msg, Action, Who, Result, Error string }
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields.Msg == "audit" && fields.Result == "denied" {
			l.counts[fields.Action]++
			if fields.Error == "" || fields.Who == "" {
				t.Errorf("a line without who or error: %s", line)
			}
		}
	}
	l.text.Reset()
	return l.counts[string(action)]
}
