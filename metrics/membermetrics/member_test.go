package membermetrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/metrics/internal/metric"
)

var testTime = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// fakeMember is a member that shows everything.
type fakeMember struct {
	status grid.Status
	stats  grid.Stats
}

func (f *fakeMember) Status() grid.Status { return f.status }
func (f *fakeMember) Stats() grid.Stats   { return f.stats }

func newFakeMember() *fakeMember {
	f := &fakeMember{
		status: grid.Status{
			Ready: true, Leader: "a", Voters: 3, VotersAlive: 2, ClusterTime: testTime, Wall: testTime,
			Ceiling:  testTime.Add(12500 * time.Millisecond),
			Settings: grid.Settings{Backups: 1, Window: 15_000}, Anchor: &grid.AnchorInfo{State: "held"},
			Members: []grid.MemberInfo{{Incarnation: "a", Alive: true}, {Incarnation: "b"}},
			Partitions: []grid.PartitionInfo{
				{Owner: "a", InSync: []string{"a", "b"}}, {ID: 1, Owner: "a", InSync: []string{"a"},
					Joining: "b"}, {ID: 2},
			},
			Sequencers: []grid.SequencerInfo{
				{Name: "orders", Nodes: 128, Attached: 28, Exhausted: testTime.AddDate(30, 0, 0), IDs: 5},
				{Name: "other", Nodes: 64, Attached: 4, Exhausted: testTime.AddDate(1, 0, 0)},
			},
		},
		stats: grid.Stats{
			Incarnation: "a", Leads: true, Protocol: 1, Handles: fakeHandles(), Holders: grid.Usage{IDs: 7},
			Refused:     map[string]uint64{"peer-nodes": 3},
			VoterClocks: []grid.VoterClock{{Member: "a", Offset: time.Second}}, ClockOffset: -time.Second,
			Requests: grid.RequestStats{ByCode: []grid.RequestCount{{Path: "/v1/renew", Code: "ok", Count: 9}}, ShedRequests: 2,
				Attaches: distribution()},
			Disk: grid.DiskStats{Durable: true, Raft: distribution(), Definitions: distribution()},

			Replication:       grid.ReplicationStats{Calls: distribution(), Lag: 2 * time.Second},
			CertificateExpiry: testTime.AddDate(0, 1, 0),
		},
	}
	return f
}

func fakeHandles() client.Stats {
	return client.Stats{
		ClusterTime: testTime, GrantUntil: testTime.Add(9 * time.Second), Handles: 2, IDs: 10, Attaches: distribution(),
		Sequencers: []client.SequencerStats{{Name: "orders", IDs: 10, GrantWaits: 1}},
	}
}

func distribution() client.Distribution {
	return client.Distribution{Count: 3, Sum: 2 * time.Second, Buckets: []client.Bucket{{UpTo: time.Second, Count: 2}}}
}

// gather returns the metrics of a collector, as lines of name, labels and value.
func gather(t *testing.T, c prometheus.Collector) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			lines = append(lines, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), value))
		}
	}
	return lines
}

// TestMemberMetrics: a member that has everything shows every family, and their values are
// those of its status and its counts.
func TestMemberMetrics(t *testing.T) {
	lines := gather(t, ForMember(newFakeMember()))
	for _, f := range slices.Concat(memberFamilies, metric.HolderFamilies) {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, f.Name+"{") }) {
			t.Errorf("%s is not shown", f.Name)
		}
	}
	for _, want := range []string{
		"snowgrid_ready{} 1", "snowgrid_settled{} 0", "snowgrid_leader{} 1", "snowgrid_members{} 2",
		"snowgrid_members_alive{} 1",
		"snowgrid_ceiling_lead_seconds{} 12.5", "snowgrid_clock_offset_seconds{} -1",
		"snowgrid_voter_clock_offset_seconds{voter=a} 1",
		"snowgrid_anchor_held{} 1", "snowgrid_partitions_owned{} 2", "snowgrid_partitions_unowned{} 1",
		"snowgrid_replicas_in_sync{} 2",
		"snowgrid_partition_copies_missing{} 2", "snowgrid_partition_copies_joining{} 1",
		"snowgrid_sequencer_nodes_free{sequencer=orders} 100", "snowgrid_sequencer_nodes_free{sequencer=other} 60",
		"snowgrid_sequencer_ids_total{sequencer=orders} 5", "snowgrid_sequencer_ids_total{sequencer=other} 2",
		"snowgrid_holder_ids_total{sequencer=orders} 10", "snowgrid_holder_grant_lead_seconds{} 9",
		"snowgrid_attach_duration_seconds{} 2",
		"snowgrid_api_requests_total{code=ok,path=/v1/renew} 9", "snowgrid_api_shed_total{kind=request} 2",
		"snowgrid_quota_refusals_total{kind=peer-nodes} 3", "snowgrid_replication_lag_seconds{} 2",
		"snowgrid_alerts{name=quorum_at_risk,severity=warning} 1", "snowgrid_alerts{name=quorum_lost,severity=critical} 0",
		"snowgrid_alerts{name=partitions_unowned,severity=critical} 1", "snowgrid_disk_failed{} 0",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("not shown: %s", want)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(lines, "\n"))
	}
}

// TestMemberWithoutMetrics: a member that knows nothing yet shows no time and no file.
func TestMemberWithoutMetrics(t *testing.T) {
	for _, line := range gather(t, ForMember(&fakeMember{})) {
		for _, absent := range []*metric.Family{clusterTime, ceilingLead, voterClockOffset, anchorHeld, diskWrites,
			certificateExpiry, sequencerExhausted} {
			if strings.HasPrefix(line, absent.Name) {
				t.Errorf("shown: %s", line)
			}
		}
		if strings.HasPrefix(line, "snowgrid_holder_grant_lead_seconds") {
			t.Errorf("shown: %s", line)
		}
	}
}
