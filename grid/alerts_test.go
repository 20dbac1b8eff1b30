package grid

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/sequencer"
)

// healthy returns the status of a grid of three members without anything to report.
func healthy() Status {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := Status{
		Name: "shop", Answering: "a", Ready: true, Settled: true, Leader: "a", Voters: 3, VotersAlive: 3, Copies: 1,
		ClusterTime: now, Wall: now, Ceiling: now.Add(14 * time.Second),
		Settings: Settings{Name: "shop", Partitions: 3, Backups: 1, Window: 15_000},
		Anchor:   &AnchorInfo{State: "held", Left: 14_000}, Disks: []DiskInfo{{Member: "d", Partitions: 3, Runs: true}},
		Sequencers: []SequencerInfo{
			{Name: "orders", Nodes: 128, Attached: 102, Exhausted: now.AddDate(30, 0, 0)},
		},
	}
	names := []string{"a", "b", "c"}
	for i, name := range names {
		s.Members = append(s.Members, MemberInfo{
			Incarnation: name, Name: "host-" + name, API: "10.0.0.1:7948", Voter: true, Leader: i == 0, Alive: true,
			Settled: true,
			Release: &Release{Max: 2, Build: "v1"}, Report: &MemberReport{ClockOffset: 900,
				CertificateExpiry: now.AddDate(0, 2, 0), GossipKeys: []string{"k1", "k2"}[:1+i%2]},
		})
		s.Partitions = append(s.Partitions, PartitionInfo{ID: i, Owner: name,
			InSync: []string{name, names[(i+1)%3]}})
	}
	return s
}

func names(of ...string) []string { return of }

// TestQuorumLostNamesTheDisk: a member whose disk has failed sees no leader, and the voters are not the cause.
func TestQuorumLostNamesTheDisk(t *testing.T) {
	s := healthy()
	s.Leader, s.Members[0].Report.DiskFailed = "", "no space"
	severity, text := checkQuorum(s)
	if want := "host-a (a) takes no part in the grid, and sees no leader, because of its disk: no space; "; severity !=
		Critical || !strings.HasPrefix(text, want) || strings.Contains(text, "voters") {
		t.Errorf("%s: %s", severity, text)
	}
}

// TestAlerts: each state gives its alert and no other, with its severity and a text that has
// the values.
func TestAlerts(t *testing.T) {
	day := 24 * time.Hour
	tests := []struct {
		change func(s *Status)
		want   string   // name, severity
		texts  []string // in the text
	}{
		{func(s *Status) { s.Leader = "" }, "quorum_lost critical", []string{"3 of 3 voters are", "Raft"}},
		{func(s *Status) {
			s.Leader, s.Anchor = "", &AnchorInfo{State: "waiting", Advice: "wait"}
		}, "anchor_not_held critical", []string{"the anchor is waiting"}},
		{func(s *Status) {
			s.Anchor = &AnchorInfo{State: "unread", Error: "no such bucket", Advice: anchorAdvice(anchor.Unread)}
		}, "anchor_not_held critical", []string{"the anchor is unread", "no such bucket", "correct"}},
		{func(s *Status) { s.Leader, s.VotersAlive = "", 1 }, "quorum_lost critical",
			[]string{"1 of 3 voters is alive", "the quorum is 2", "start"}},
		{func(s *Status) { s.Advice = "quorum lost: do this" }, "quorum_lost critical", []string{"do this"}},
		{func(s *Status) { s.Leader, s.Voters, s.VotersAlive = "", 0, 0 }, "quorum_lost critical", []string{"in no grid"}},
		{func(s *Status) { s.VotersAlive = 2 }, "quorum_at_risk warning",
			[]string{"2 of 3 voters", "start the missing member again"}},
		{func(s *Status) {
			s.VotersAlive, s.Absent = 2, []AbsentVoter{{ID: "d", Name: "host-d", Raft: "10.0.0.4:7947"}}
		}, "quorum_at_risk warning",
			[]string{"start host-d (d, 10.0.0.4:7947) again"}},
		{func(s *Status) { s.Members[0].Report.Expect, s.Members[1].Report.Expect = 3, 5 }, "members_missing warning",
			[]string{"3 members", "5 are expected", "to run: set expect to 3 in the configuration of host-b (b)"}},
		{func(s *Status) { s.Settings.Expect = 4 }, "members_missing warning",
			[]string{"3 members", "4 are expected", "to run: run `snowgrid settings set expect=3`"}},
		{func(s *Status) { s.Settings.Expect, s.Members[0].Report.Expect = 6, 5 }, "members_missing warning",
			[]string{"6 are expected", "set expect=3`; set expect to 3 in the configuration of"}},
		{func(s *Status) { s.Voters, s.VotersAlive = 5, 3 }, "quorum_at_risk warning", []string{"3 of 5 voters"}},
		{func(s *Status) { s.Voters, s.VotersAlive = 1, 1 }, "quorum_at_risk warning", []string{"3 members and 1 voter",
			"losing a voter", "at least 3"}},
		{func(s *Status) { s.Ceiling = s.ClusterTime.Add(4999 * time.Millisecond) }, "ceiling_low warning",
			[]string{"4.999s", "5s", "leader"}},
		{func(s *Status) { s.Ceiling = s.ClusterTime }, "ceiling_low critical", []string{"holders wait"}},
		{func(s *Status) { s.Partitions[1].Owner = "" }, "partitions_unowned critical", []string{"1 of 3"}},
		{func(s *Status) { s.Partitions[1].InSync = s.Partitions[1].InSync[:1] }, "copies_missing warning",
			[]string{"1 of 3 partitions", "1 copy,"}},
		{func(s *Status) { s.Settings.Backups, s.Members = 1, s.Members[:1] }, "too_few_members info",
			[]string{"1 member cannot keep 1 backup for", "start 1 more"}},
		{func(s *Status) {
			s.Settings.Backups = 3
			for i := range s.Partitions {
				s.Partitions[i].InSync = []string{"a", "b", "c"}
			}
		}, "too_few_members warning", []string{"3 members", "3 backups", "start 1 more"}},
		{func(s *Status) { s.Disks[0].Runs, s.Disks[0].Awaited = false, 2 }, "definitions_awaited critical",
			[]string{"d, for 2 partitions", "snowgrid forget"}},
		{func(s *Status) { s.Members[1].Alive = false }, "member_down warning", []string{"1 of 3", "host-b (b)", "start"}},
		{func(s *Status) { s.Unreachable = []string{"c"} }, "member_down warning", []string{"host-c (c) did not answer at " +
			"10.0.0.1:7948"}},
		{func(s *Status) {
			s.IDsBegin, s.IDsWait = s.now().Add(10*time.Second), "all were killed"
			s.NotReady, s.Ready = idsBeginAt+"noon", false
			s.Members[1].Report.NotReady = s.NotReady
		}, "ids_begin_later warning", []string{"(in 10s): all were killed; no action is needed"}},
		{func(s *Status) { s.Members[2].Report.NotReady = "not in sync" }, "member_not_ready warning",
			[]string{"host-c (c): not in sync"}},
		{func(s *Status) { s.Ready, s.NotReady = false, "no roster" }, "member_not_ready warning", []string{"a: no roster"}},
		{func(s *Status) { s.Members[1].Report.NoDescriptors = "too many open files" }, "descriptors_exhausted critical",
			[]string{"host-b (b): too many open files", "1m0s", "ulimit -n"}},
		{func(s *Status) { s.Members[2].Report.DiskFailed = "no space" }, "disk_failed critical",
			[]string{"host-c (c): no space", "restart"}},
		{func(s *Status) { s.Members[0].Report.ClockOffset = -1001 }, "clock_offset warning",
			[]string{"host-a (a) by -1.001s", "1s", "NTP"}},
		{func(s *Status) { s.Members[0].Report.ClockOffset = 5001 }, "clock_offset critical", []string{"5.001s"}},
		{func(s *Status) { s.Sequencers[0].Attached = 103 }, "nodes_used warning",
			[]string{`"orders" has 103 of 128`, "80 %", "DetachWhenIdle"}},
		{func(s *Status) {
			s.Sequencers[0].NodeRange = sequencer.NodeRange{Lo: 100, Hi: 109}
			s.Sequencers[0].Attached = 9
		}, "nodes_used warning", []string{`"orders" has 9 of 10`}},
		{func(s *Status) { s.Sequencers[0].Attached = 128 }, "nodes_used critical", []string{"128 of 128"}},
		{func(s *Status) { s.Sequencers[0].Exhausted = s.ClusterTime.Add(700 * day) }, "epoch_ends warning",
			[]string{`"orders" on 2028-10-22`, "later epoch"}},
		{func(s *Status) { s.Sequencers[0].Exhausted = s.ClusterTime.Add(-day) }, "epoch_ends critical",
			[]string{"2026-11-21"}},
		{func(s *Status) { s.Members[1].Report.CertificateExpiry = s.Wall.Add(13 * day) }, "certificate_expires warning",
			[]string{"host-b (b) on 2026-12-05", "14 days"}},
		{func(s *Status) { s.Members[1].Report.CertificateExpiry = s.Wall.Add(day) }, "certificate_expires critical",
			[]string{"host-b"}},
		{func(s *Status) { s.ForeignMembers = []string{"x"} }, "foreign_grid warning", []string{`"shop"`, "x", "rename"}},
		{func(s *Status) { s.Anchor.State = "anchor_taken" }, "anchor_not_held critical", []string{"anchor_taken", "14s"}},
		{func(s *Status) { s.Anchor.Error = "timeout" }, "anchor_not_held warning", []string{"timeout", "store"}},
		{func(s *Status) {
			s.Members[2].Report.Unreached, s.Members[1].Report.Unreached = names("b"), names("c", "gone")
		}, "members_apart warning",
			[]string{"each other", "both: host-b (b) and host-c (c); the leader places", "restore the network"}},
		{func(s *Status) {
			s.Members[2].Alive, s.Members[1].Report.Unreached = false, names("c")
		}, "member_down warning", []string{"host-c (c)"}},
		{func(s *Status) { // of a member that gossip does not reach: Raft does
			s.Members[1].Alive, s.Members[2].Alive, s.VotersAlive = false, false, 1
		}, "member_down warning", []string{"host-b (b)", "host-c (c)"}},
		{func(s *Status) {
			s.Members[0].Report.GossipKeys, s.Members[1].Report.GossipKeys = names("k1", "k2"), names("k2", "k1")
			s.Members[2].Report.GossipKeys = nil
		}, "gossip_keys_differ warning", []string{"different keys (k1, k2)", "keyring use"}},
		{func(s *Status) {
			s.Members[0].Report.GossipKeys, s.Members[1].Report.GossipKeys = names("k1", "k2"), names("k2")
		}, "gossip_keys_differ warning", []string{"host-b (b) lacks k1;", "keyring install", "gossip.keys", "keyring use"}},
		{func(s *Status) { s.Members[1].Report.WithoutUDP = []string{"10.0.0.1:7946", "10.0.0.3:7946"} },
			"udp_blocked warning",
			[]string{"from host-b (b) to 10.0.0.1:7946, 10.0.0.3:7946", "allow UDP besides TCP", "(7946)"}},
		{func(s *Status) {
			s.Members[1].Report.UnresolvedJoin = []string{"ids.internal (no such host)", "file:x (y)"}
		}, "seeds_unresolved warning",
			[]string{"for a minute", "host-b (b): ids.internal (no such host), file:x (y)", "Config.Join (--join)",
				"DNS records"}},
		{func(s *Status) {
			s.Answering, s.AnsweringName, s.UnresolvedJoin = "d", "host-d", []string{"ids.internal (no such host)"}
		}, "seeds_unresolved warning", []string{"host-d (d): ids.internal (no such host)"}},
		{func(s *Status) { s.Members[1].Release.Build = "v2" }, "mixed_versions info", []string{"2 different",
			"host-b (b) runs snowgrid v2 (protocol"}},
		{func(s *Status) { *s.Members[1].Release = Release{} }, "mixed_versions info",
			[]string{"host-b (b) runs snowgrid of an unknown build (protocol"}},
	}
	if got := Alerts(healthy()); len(got) > 0 {
		t.Fatalf("a healthy grid has %v", got)
	}
	fired := map[string]bool{}
	for _, test := range tests {
		s := healthy()
		test.change(&s)
		got := Alerts(s)
		if len(got) != 1 {
			t.Errorf("%s: %d alerts: %v", test.want, len(got), got)
			continue
		}
		a := got[0]
		fired[a.Name+" "+string(a.Severity)] = true
		if said := a.Name + " " + string(a.Severity); said != test.want {
			t.Errorf("%s: got %s: %s", test.want, said, a.Text)
		}
		for _, text := range test.texts {
			if !strings.Contains(a.Text, text) {
				t.Errorf("%s: the text lacks %q: %s", test.want, text, a.Text)
			}
		}
		if words := strings.ReplaceAll(a.Name, "_", " "); strings.HasPrefix(a.Text, words) {
			t.Errorf("%s: the text repeats the name: %s", test.want, a.Text)
		}
		if Degraded(got) != (a.Severity != Info) {
			t.Errorf("%s: degraded is %v", test.want, Degraded(got))
		}
	}
	for _, kind := range AlertKinds() {
		for _, severity := range kind.Severities {
			if !fired[kind.Name+" "+string(severity)] {
				t.Errorf("no state of this test gives %s %s", kind.Name, severity)
			}
		}
	}
	if !slices.IsSortedFunc(AlertKinds(), func(a, b AlertKind) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the kinds are not sorted by name")
	}
}

// TestAlertsAreOrderedAndBounded: the most urgent come first, and a text names a few of very
// many subjects.
func TestAlertsAreOrderedAndBounded(t *testing.T) {
	s := healthy()
	for i := range 1000 {
		s.Sequencers = append(s.Sequencers, SequencerInfo{Name: fmt.Sprint("s", i), Nodes: 1, Attached: 1})
	}
	s.Members[1].Release.Build = "v2"
	s.ForeignMembers = []string{"x"}
	var names []string
	for _, a := range Alerts(s) {
		names = append(names, a.Name)
		if len(a.Text) > 500 {
			t.Errorf("%s has a text of %d bytes", a.Name, len(a.Text))
		}
	}
	if want := []string{"nodes_used", "foreign_grid", "mixed_versions"}; !slices.Equal(names, want) {
		t.Errorf("alerts %v, want %v", names, want)
	}
	if got := Alerts(Status{}); len(got) == 0 || got[0].Name != "quorum_lost" {
		t.Errorf("an empty status has %v", got)
	}
}

// TestDiskAlertStatesItsAdviceOnce: the report of a member with a failed disk ends with the advice, and
// the alert has its own.
func TestDiskAlertStatesItsAdviceOnce(t *testing.T) {
	s := healthy()
	for _, m := range s.Members[1:] {
		m.Report.DiskFailed = (&raftlog.DiskError{Dir: "/ids", Doing: "syncing", Cause: errors.New("no space")}).Error()
	}
	got := Alerts(s)
	if len(got) != 1 || strings.Count(got[0].Text, "restart") != 1 ||
		strings.Count(got[0].Text, "syncing: no space") != 2 {
		t.Errorf("%v", got)
	}
}
