package grid_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
)

// memberBlow is a call to a member.
func (b *besieged) memberBlow(action security.Action, member, path string, in any) blow {
	return blow{what: path, action: action,
		strike: func(a *evil.Attacker) error { return a.Call(b.t.Context(), b.target(member), path, in) }}
}

// incarnation returns the incarnation of a member.
func (b *besieged) incarnation(name string) roster.Incarnation {
	return roster.Incarnation(b.g.Member(name).Status().Answering)
}

// nameOf returns the name of the member with an incarnation.
func (b *besieged) nameOf(i roster.Incarnation) string {
	for _, name := range b.g.Running() {
		if b.incarnation(name) == i {
			return name
		}
	}
	b.t.Fatalf("no member is %s", i)
	return ""
}

// TestAttackTableAndGoodbye: a backup takes no table, and the leader no goodbye of the
// owner, from a process without the role member: together they make equal IDs.
func TestAttackTableAndGoodbye(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		s := b.g.Member("m1").Status()
		id := roster.PartitionOf(victimName, len(s.Partitions))
		p := s.Partitions[id]
		var blows []blow
		for _, replica := range p.InSync {
			if replica != p.Owner {
				blows = append(blows, b.memberBlow(security.Replicate, b.nameOf(roster.Incarnation(replica)), wire.PathReplicate,
					member.ReplicateRequest{
						Partition: id, Version: roster.Version(s.Version), Pages: 1,
						Position: backup.Position{Term: roster.Term(p.Term), Number: 1 << 32},
						Table:    &member.Table{},
					}))
			}
		}
		for _, name := range b.g.Running() {
			for _, failed := range []bool{true, false} {
				in := wire.LeaveRequest{Incarnation: b.incarnation(name), Server: string(serverOf(b.g, name)), Failed: failed}
				blows = append(blows, b.memberBlow(security.Leave, b.g.Leader(), wire.PathLeave, in))
			}
		}
		b.attack("a forged table and goodbyes", blows...)
		newcomer := b.newcomer("another")
		for range 3 {
			newcomer.during(2*time.Second, "as a newcomer")
			b.ids.during(2*time.Second, "beside a newcomer")
		}
	})
}

// TestAttackTermsOfPartitions: tables of the last term of all, for each partition at each
// member, depose no owner.
func TestAttackTermsOfPartitions(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, true, func(t *testing.T, b *besieged) {
		s := b.g.Member("m1").Status()
		var blows []blow
		for id := range s.Partitions {
			for _, name := range b.g.Running() {
				blows = append(blows, b.memberBlow(security.Replicate, name, wire.PathReplicate, member.ReplicateRequest{
					Partition: roster.PartitionID(id), Version: math.MaxInt64,
					Position: backup.Position{Term: math.MaxUint64, Number: 1 << 40}, Pages: 1, Table: &member.Table{},
				}))
			}
			if id == 9 && !long.Enabled() {
				break
			}
		}
		b.attack("tables of the last term", blows...)
	})
}

// TestAttackJoins: joins of members that do not exist are refused before the leader dials
// any address in them.
func TestAttackJoins(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		dialed := b.trap("probed:22")
		var blows []blow
		for i, api := range []string{"silent:7948", "evil:7948", b.g.Member("m1").Addrs().API, dialed.addr} {
			inc := roster.Incarnation(fmt.Sprintf("%016x-%016x", i+1, 1))
			blows = append(blows, b.memberBlow(security.Join, b.g.Leader(), wire.PathJoin, wire.JoinRequest{
				Member: roster.Member{Incarnation: inc, API: api, Raft: "evil:1", Gossip: "evil:2", Durable: true},
				Server: string(inc.Member()),
			}))
		}
		b.attack("joins of members that do not exist", blows...)
		if n := dialed.conns.Load(); n > 0 {
			t.Errorf("the leader dialed an address of the attacker %d times", n)
		}
		b.g.StartMembers("m4")
		within(t, 20*time.Second, "a member that exists gets in", func() bool { return members(b.g) == 4 })
	})
}

// TestAttackMemberCalls: every other call between members, and those of operators.
func TestAttackMemberCalls(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		s := b.g.Member("m1").Status()
		own := grid.RosterOf(b.g.Member("m1"))
		settings := own.Settings
		settings.Window++
		leader, other := b.g.Leader(), roster.GridID{9}
		until := clustertime.TickOf(s.ClusterTime.Add(25*time.Hour - 5*time.Second))
		partition := roster.PartitionOf(victimName, len(s.Partitions))
		backups := 0
		b.attack("calls of members",
			b.memberBlow(security.Hello, leader, wire.PathHello, wire.HelloRequest{}),
			b.memberBlow(security.Push, leader, wire.PathPush, wire.PushRequest{Leader: "0123456789abcdef", At: 1 << 40,
				Time: until}),
			b.memberBlow(security.Accept, leader, wire.PathAccept, wire.AcceptRequest{BootstrapMember: "0123456789abcdef",
				Grid: other, Settings: own.Settings}),
			b.memberBlow(security.Accept, leader, wire.PathAccept, wire.AcceptRequest{BootstrapMember: "0123456789abcdef",
				Grid: other, Settings: settings}),
			b.memberBlow(security.Abandon, leader, wire.PathAbandon, wire.AbandonRequest{Old: own.Grid, Grid: other,
				BootstrapMember: "0123456789abcdef", Expect: 3}),
			b.memberBlow(security.Earlier, leader, wire.PathEarlier, wire.EarlierRequest{Until: until}),
			b.memberBlow(security.Dismiss, leader, wire.PathDismiss, wire.DismissRequest{}),
			b.memberBlow(security.Held, leader, wire.PathHeld, wire.HeldRequest{Owner: own.Partitions[partition].Owner,
				Persisted: []roster.Persisted{{Partition: partition}}}),
			b.memberBlow(security.Stored, leader, wire.PathStored, map[string]any{}),
			b.memberBlow(security.Collect, leader, wire.PathCollect, map[string]any{"partition": partition}),
		)
		b.attack("calls of operators",
			b.memberBlow(security.Init, leader, wire.PathInit, wire.InitRequest{Force: true}),
			b.memberBlow(security.Forget, leader, wire.PathForget, wire.ForgetRequest{Member: b.incarnation("m2").Member()}),
			b.memberBlow(security.Remove, leader, wire.PathRemove, wire.RemoveRequest{Member: b.incarnation("m2").Member(),
				Relay: wire.Relay{AskedBy: "127.0.0.1:1", Forwarded: true}}),
			b.memberBlow(security.TakeAnchor, leader, wire.PathTake, wire.TakeRequest{}),
			b.memberBlow(security.Settings, leader, wire.PathSettings,
				wire.SettingsRequest{Backups: &backups, Relay: wire.Relay{AskedBy: "127.0.0.1:1", Forwarded: true}}),
			b.memberBlow(security.CleanNumbers, leader, wire.PathIdentityClean,
				wire.IdentityCleanRequest{Cluster: "c", Name: "s"}),
			b.memberBlow(security.ImportNumbers, leader, wire.PathIdentityImport,
				wire.IdentityImportRequest{Cluster: "c", Name: "s", Next: 1 << 40}),
		)
	})
}

// TestAttackMembership: no attacker has a member leave, join another grid, or call an
// address.
func TestAttackMembership(t *testing.T) {
	underAttack(t, false, func(t *testing.T, b *besieged) {
		dialed := b.trap("probed:7946")
		path := func(action security.Action, path, body string) blow {
			return blow{what: path, action: action, strike: func(a *evil.Attacker) error {
				_, err := a.Do(t.Context(), b.target("m1").API, http.MethodPost, path, http.Header{"Content-Type": {wire.JSON}},
					[]byte(body))
				return err
			}}
		}
		for i, a := range b.attackers {
			if a.Role == security.Admin { // it may
				b.attackers = slices.Delete(b.attackers, i, i+1)
				break
			}
		}
		b.attack("membership",
			path(security.Subscribe, membership.PathSubscribe,
				`{"id":"a","address":"probed","protocolPort":7946,"servicePort":7948}`),
			path(security.Unsubscribe, membership.PathUnsubscribe, `{}`),
		)
		if n := dialed.conns.Load(); n > 0 {
			t.Errorf("an address of an attacker was dialed %d times", n)
		}
	})
}
