package prometheus

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// readRules returns the alert rules.
func readRules(t *testing.T) (out []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, group := range groups.Groups {
		out = append(out, group.Rules...)
	}
	if len(out) == 0 {
		t.Fatal("there are no rules")
	}
	return out
}

// ruleTests are series of 100 minutes, a sample each 15 s, and whether an alert fires at
// their end.
var ruleTests = []struct {
	alert  string
	fires  bool
	series string
}{
	{"SnowgridCritical", true, `snowgrid_alerts{name="quorum_lost",severity="critical"} 1x400`},
	{"SnowgridCritical", false, `snowgrid_alerts{name="quorum_lost",severity="critical"} 0x399 1`},
	{"SnowgridWarning", true, `snowgrid_alerts{name="nodes_used",severity="warning"} 1x400`},
	{"SnowgridWarning", false, `snowgrid_alerts{name="nodes_used",severity="info"} 1x400`},
	{"SnowgridMemberAbsent", true, `up{job="snowgrid"} 1x390 0x10`},
	{"SnowgridMemberAbsent", false, `up{job="other"} 0x400`},
	{"SnowgridNoLeader", true, `snowgrid_leader{instance="a"} 0x400
		snowgrid_leader{instance="b"} 0x400`},
	{"SnowgridNoLeader", false, `snowgrid_leader{instance="a"} 1x398 0 0
		snowgrid_leader{instance="b"} 0x400`},
	{"SnowgridTwoLeaders", true, `snowgrid_leader{instance="a"} 1x400
		snowgrid_leader{instance="b"} 1x400`},
	{"SnowgridTwoLeaders", false, `snowgrid_leader{instance="a"} 1x400
		snowgrid_leader{instance="b"} 0x398 1 1`},
	{"SnowgridCeilingLow", true, `snowgrid_ceiling_lead_seconds 14x395 4x5
		snowgrid_window_seconds 15x400`},
	{"SnowgridCeilingLow", false, `snowgrid_ceiling_lead_seconds 5.1x400
		snowgrid_window_seconds 15x400`},
	{"SnowgridPartitionsLost", true, `snowgrid_partition_losses_total 0x380 4x20`},
	{"SnowgridPartitionsLost", false, `snowgrid_partition_losses_total 4x400`},
	{"SnowgridTakeovers", true, `snowgrid_partition_takeovers_total 0+20x400
		snowgrid_partitions 271x400`},
	{"SnowgridTakeovers", false, `snowgrid_partition_takeovers_total 0x380 271x20
		snowgrid_partitions 271x400`},
	{"SnowgridMixedReleases", true, `snowgrid_build_info{instance="a",version="v1"} 1x400
		snowgrid_build_info{instance="b",version="v2"} 1x400`},
	{"SnowgridMixedReleases", false, `snowgrid_build_info{instance="a",version="v1"} 1x400
		snowgrid_build_info{instance="b",version="v1"} 1x400`},
	{"SnowgridHoldersWait", true, `snowgrid_sequencer_grant_waits_total{sequencer="orders"} 0+1x400`},
	{"SnowgridHoldersWait", false, `snowgrid_sequencer_grant_waits_total{sequencer="orders"} 7x400`},
	{"SnowgridRenewalsFail", true, `snowgrid_holder_renewals_total{instance="a"} 0+10x400
		snowgrid_holder_renewal_failures_total{instance="a"} 0+3x400`},
	{"SnowgridRenewalsFail", false, `snowgrid_holder_renewals_total{instance="a"} 0+10x400
		snowgrid_holder_renewal_failures_total{instance="a"} 0+1x400`},
	{"SnowgridNodesLost", true, `snowgrid_holder_nodes_lost_total{instance="a"} 0x390 1x10`},
	{"SnowgridNodesLost", false, `snowgrid_holder_nodes_lost_total{instance="a"} 1x400`},
	{"SnowgridSheds", true, `snowgrid_api_shed_total{instance="a",kind="request"} 0+1x400`},
	{"SnowgridSheds", false, `snowgrid_api_shed_total{instance="a",kind="request"} 3x400`},
	{"SnowgridAttachesSlow", true, `snowgrid_attach_duration_seconds_bucket{instance="a",le="2.5"} 0+9x400
		snowgrid_attach_duration_seconds_bucket{instance="a",le="5"} 0+10x400
		snowgrid_attach_duration_seconds_bucket{instance="a",le="+Inf"} 0+10x400`},
	{"SnowgridAttachesSlow", false, `snowgrid_attach_duration_seconds_bucket{instance="a",le="2.5"} 0+10x400
		snowgrid_attach_duration_seconds_bucket{instance="a",le="5"} 0+10x400
		snowgrid_attach_duration_seconds_bucket{instance="a",le="+Inf"} 0+10x400`},
	{"SnowgridCertificateEnds", true, `snowgrid_certificate_expiry_timestamp_seconds{instance="a"} 1209600x400
		snowgrid_certificate_expiry_timestamp_seconds{instance="b"} 9000000x400`},
	{"SnowgridCertificateEnds", false, `snowgrid_certificate_expiry_timestamp_seconds{instance="a"} 1220000x400`},
	{"SnowgridDenials", true, `snowgrid_api_requests_total{instance="a",path="/v1/create",code="denied"} 0+1x400
		snowgrid_api_requests_total{instance="a",path="/v1/create",code="unauthenticated"} 0+1x400`},
	{"SnowgridDenials", false, `snowgrid_api_requests_total{instance="a",path="/v1/create",code="ok"} 0+9x400
		snowgrid_api_requests_total{instance="a",path="/v1/create",code="denied"} 0+1x400`},
	{"SnowgridReplicationLag", true, `snowgrid_replication_lag_seconds 0x395 6x5`},
	{"SnowgridReplicationLag", false, `snowgrid_replication_lag_seconds 0x399 6`},
	{"SnowgridDiskSlow", true, `snowgrid_disk_write_duration_seconds_bucket{instance="a",store="raft",le="0.5"} 0+9x400
		snowgrid_disk_write_duration_seconds_bucket{instance="a",store="raft",le="1"} 0+10x400
		snowgrid_disk_write_duration_seconds_bucket{instance="a",store="raft",le="+Inf"} 0+10x400`},
	{"SnowgridDiskSlow", false, `snowgrid_disk_write_duration_seconds_bucket{instance="a",store="raft",le="0.5"} 0+10x400
		snowgrid_disk_write_duration_seconds_bucket{instance="a",store="raft",le="1"} 0+10x400
		snowgrid_disk_write_duration_seconds_bucket{instance="a",store="raft",le="+Inf"} 0+10x400`},
}

// TestRules: each rule fires for series that it is about, with texts that expand, and does not
// for others.
func TestRules(t *testing.T) {
	tested := map[string]int{}
	all := readRules(t)
	for _, test := range ruleTests {
		name := test.alert + " does not fire"
		if test.fires {
			name = test.alert + " fires"
		}
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(all, func(r rulefmt.Rule) bool { return r.Alert == test.alert })
			if i < 0 {
				t.Fatal("the rule does not exist")
			}
			alert := evaluate(t, all[i], test.series)
			if (alert != nil) != test.fires {
				t.Fatalf("firing: %v", alert)
			}
			tested[test.alert] |= map[bool]int{true: 1, false: 2}[test.fires]
			if alert == nil {
				return
			}
			for _, annotation := range []string{"summary", "description"} {
				if text := alert.Annotations.Get(annotation); text == "" || strings.Contains(text, "error expanding") ||
					strings.Contains(text, "<no value>") {
					t.Errorf("the %s is %q", annotation, text)
				}
			}
			if alert.Labels.Get("severity") == "" {
				t.Error("it has no severity")
			}
		})
	}
	for _, rule := range all {
		if tested[rule.Alert] != 3 {
			t.Errorf("%s needs series for which it fires, and series for which it does not", rule.Alert)
		}
	}
}

// evaluate evaluates a rule over 100 minutes of series, each 15 s, and returns an alert that
// fires at the end, nil if none does.
func evaluate(t *testing.T, r rulefmt.Rule, series string) *rules.Alert {
	t.Helper()
	db := promqltest.LoadedStorage(t, "load 15s\n\t\t"+series)
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000), db)
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
	if err != nil {
		t.Fatal(err)
	}
	rule := rules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), time.Duration(r.KeepFiringFor),
		labels.FromMap(r.Labels), labels.FromMap(r.Annotations),
		labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	end := time.Unix(0, 0).Add(400 * interval)
	for at := time.Unix(0, 0); !at.After(end); at = at.Add(interval) {
		if _, err := rule.Eval(t.Context(), 0, at, query, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, alert := range rule.ActiveAlerts() {
		if alert.State == rules.StateFiring {
			return alert
		}
	}
	return nil
}
