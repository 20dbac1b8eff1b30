package grid_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
)

// raftBlow is a Raft message to a member, in the name of a server.
func (b *besieged) raftBlow(m evil.Message, term uint64, to, as string) blow {
	return blow{what: m.Name + " to " + to, action: security.Raft, strike: func(a *evil.Attacker) error {
		r := a.Raft(b.t.Context(), b.target(to), string(serverOf(b.g, as)))
		defer func() { _ = r.Close() }()
		return b.refusalOf(a, m.Send(r, term))
	}}
}

// refusalOf translates the end of a stream. A stream has no words for a refusal: all that its
// other end hears is that TLS or the stream ended, before any answer.
func (b *besieged) refusalOf(a *evil.Attacker, err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), "term") || strings.Contains(err.Error(), "server") {
		b.t.Errorf("%s: the message came as far as the checks of its content: %v", a.Name, err)
	}
	return a.Refusal
}

// TestAttackRaft: no message of Raft counts that comes over a stream without a member's
// certificate, in the name of any server.
func TestAttackRaft(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	for i := range evil.Messages(nil) {
		t.Run(evil.Messages(nil)[i].Name, func(t *testing.T) {
			underAttack(t, true, func(t *testing.T, b *besieged) {
				m, leader := evil.Messages(forgedRoster(t, b.g))[i], b.g.Leader()
				var blows []blow
				for _, name := range b.g.Running() {
					blows = append(blows, b.raftBlow(m, math.MaxUint64, name, leader), b.raftBlow(m, 100, name, leader),
						b.raftBlow(m, 100, name, name))
				}
				b.attack("Raft", blows...)
			})
		})
	}
}

// TestAttackRaftRepeated: the leader continues to lead while it, and its followers, are sent
// messages of ever higher terms, four a second, and requests to stand for election.
func TestAttackRaftRepeated(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, true, func(t *testing.T, b *besieged) {
		all, leader := evil.Messages(nil), b.g.Leader()
		for _, a := range b.attackers {
			for term := uint64(100); term < 120; term++ {
				for _, name := range b.g.Running() {
					for _, m := range []evil.Message{all[0], all[4]} {
						if err := b.raftBlow(m, term, name, leader).strike(a); !a.IsRefusal(err) {
							t.Errorf("%s: %s: %v", a.Name, m.Name, err)
						}
					}
				}
				b.ids.during(250*time.Millisecond, "during the messages")
			}
		}
		if b.audit.denied(t, security.Raft) == 0 {
			t.Error("the audit log has no line")
		}
		b.withstood("higher terms and TimeoutNow")
	})
}
