package partition_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// asked is a request and the process that it was put to.
type asked struct {
	*outcome
	at roster.Incarnation
}

// TestRepliesOnceWithDisks: with disks, whatever is written, lost, late or given up, and
// whichever member ends or becomes the owner, each request is replied to once; and no request
// is left without a reply when the partition has no owner any longer.
func TestRepliesOnceWithDisks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durable := []bool{true, rapid.Bool().Draw(t, "b is durable"), rapid.Bool().Draw(t, "c is durable")}
		n := newMachines(t, durable...)
		n.begin(0, 1, 2)
		var all []asked
		who := func() int { return rapid.IntRange(0, 2).Draw(t, "member") }
		name := func() string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name") }
		ask := func(i int, o *outcome) { all = append(all, asked{o, n.members[i].inc}) }
		inSync := func(i int) bool { return slices.Contains(n.roster.Partitions[0].InSync, n.members[i].inc) }
		t.Repeat(map[string]func(*rapid.T){
			"create":  func(*rapid.T) { i := who(); ask(i, n.create(i, name())) },
			"open":    func(*rapid.T) { i := who(); ask(i, n.open(i, name())) },
			"destroy": func(*rapid.T) { i := who(); ask(i, n.destroy(i, name())) },
			"renew": func(*rapid.T) {
				m, o := n.members[who()], &outcome{t: t, what: "renew"}
				r := ref(t, name(), rapid.ByteRange(1, 9).Draw(t, "life"))
				m.machine.Renew(m.view(), "h", claims(n, r), renewed(o))
				all = append(all, asked{o, m.inc})
			},
			"carry": func(t *rapid.T) {
				if len(n.mail) == 0 {
					t.Skip("nothing is on its way")
				}
				i := rapid.IntRange(0, len(n.mail)-1).Draw(t, "message")
				l := n.mail[i]
				n.mail = slices.Delete(n.mail, i, i+1)
				lossy := l.what == "stored" || l.what == "collect" || l.what == "collected"
				if !lossy || rapid.IntRange(0, 3).Draw(t, "lost") > 0 {
					l.carry()
				}
			},
			"settle": func(*rapid.T) { n.settle() },
			"learn":  func(*rapid.T) { n.learn(who()) },
			"time":   func(t *rapid.T) { n.tick(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond) },
			"take": func(t *rapid.T) {
				i := who()
				if !inSync(i) || n.roster.Partitions[0].Owner == n.members[i].inc {
					t.Skip("it cannot take over")
				}
				n.take(i)
			},
			"drop": func(t *rapid.T) {
				i := who()
				if !inSync(i) || n.roster.Partitions[0].Owner == n.members[i].inc {
					t.Skip("it cannot be dropped")
				}
				n.drop(i, rapid.Bool().Draw(t, "dead"))
			},
			"lose":    func(*rapid.T) { n.lose(who()) },
			"restart": func(*rapid.T) { n.restart(who()) },
		})
		for _, m := range n.members {
			m.machine.Fail(roster.ErrWrongOwner)
		}
		for _, a := range all {
			if ended := n.peer(a.at) == nil; !a.replied && !ended {
				t.Errorf("%s was not replied to", a.what)
			}
		}
	})
}

func claims(n *machines, r attachment.Ref) []partition.Claim {
	return []partition.Claim{claimOf(n, r, r.Life[0], 1), claimOf(n, r, 0, n.roster.Version)}
}

func renewed(o *outcome) func([]partition.Renewed, error) {
	return func(_ []partition.Renewed, err error) { o.reply(attachment.Ref{}, err) }
}
