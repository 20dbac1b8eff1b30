package metrics_test

import (
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/metrics"
	"github.com/snowgrid/snowgrid/metrics/internal/metric"
)

// source is a client with a handle.
type source struct{}

func (source) Stats() client.Stats {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	return client.Stats{
		ClusterTime: now, GrantUntil: now.Add(9 * time.Second), Handles: 2, IDs: 10, Dials: 4, DialFailures: 1,
		Attaches: client.Distribution{Count: 3, Sum: 2 * time.Second, Buckets: []client.Bucket{{UpTo: time.Second,
			Count: 2}}},
		Sequencers: []client.SequencerStats{{Name: "orders", IDs: 10, GrantWaits: 1}},
	}
}

// TestClientMetrics: a client shows every family of handles.
func TestClientMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.ForClient(source{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
	shown := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			shown[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	for _, f := range metric.HolderFamilies {
		if _, found := shown[f.Name]; !found {
			t.Errorf("%s is not shown", f.Name)
		}
	}
	for name, want := range map[string]float64{"snowgrid_holder_ids_total": 10, "snowgrid_holder_grant_lead_seconds": 9,
		"snowgrid_holder_attach_duration_seconds": 2, "snowgrid_dials_total": 4, "snowgrid_dial_failures_total": 1} {
		if shown[name] != want {
			t.Errorf("%s is %v, want %v", name, shown[name], want)
		}
	}
}

// TestThinClientsLinkNoGrid: a program with a client or a store client and its metrics has nothing of a member.
func TestThinClientsLinkNoGrid(t *testing.T) {
	grid := regexp.MustCompile(`(?m)^(github\.com/hashicorp/|go\.etcd\.io/|github\.com/snowgrid/snowgrid/grid).*$`)
	for _, of := range []string{"metrics", "client", "client/store"} {
		out, err := exec.Command("go", "list", "-deps", "github.com/snowgrid/snowgrid/"+of).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if linked := grid.FindAllString(string(out), -1); len(linked) > 0 {
			t.Errorf("package %s links %q", of, linked)
		}
	}
}
