package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// TestStatusCheck: the exit status and the output of status --check, for a healthy grid, one
// that needs attention, and one that does not answer.
func TestStatusCheck(t *testing.T) {
	t.Parallel()
	healthy := exampleStatus()
	healthy.Voters, healthy.VotersAlive, healthy.Disks = 3, 3, nil
	for i := range healthy.Members {
		healthy.Members[i].Alive = true
	}
	for i := range healthy.Partitions {
		healthy.Partitions[i].InSync = healthy.Partitions[0].InSync
	}
	informed := healthy
	informed.Members = append([]grid.MemberInfo(nil), healthy.Members...)
	informed.Members[0].Release = &grid.Release{Build: "v1"}
	informed.Members[1].Release = &grid.Release{Build: "v2"}
	degraded := healthy
	degraded.VotersAlive = 2
	worse := degraded
	worse.Partitions = append([]grid.PartitionInfo(nil), degraded.Partitions...)
	worse.Partitions[0].Owner = ""
	worse.Members = informed.Members
	tests := []struct {
		name   string
		addr   string
		status int
		out    string // in stdout
		err    string // in stderr
	}{
		{"healthy", member(t, 200, healthy), exitDone, "healthy: grid shop, 2 members, 3 of 3 voters alive", ""},
		{"informed", member(t, 200, informed), exitDone, "info      mixed_versions: ", ""},
		{"degraded", member(t, 200, degraded), exitDegraded, "warning   quorum_at_risk: 2 of 3 voters",
			"shop needs attention: quorum_at_risk"},
		{"worse", member(t, 200, worse), exitDegraded, "critical  partitions_unowned: ",
			"shop needs attention: partitions_unowned, quorum_at_risk\n"},
		{"unreachable", "127.0.0.1:1", exitUnreachable, "", "no member answers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, errs strings.Builder
			status := run(t.Context(), []string{"status", "--check", "--addr", test.addr, "--timeout", "5s"},
				streams{out: &out, err: &errs})
			if status != test.status || !strings.Contains(out.String(), test.out) || !strings.Contains(errs.String(), test.err) {
				t.Errorf("exit status %d, want %d\nstdout: %s\nstderr: %s", status, test.status, out.String(), errs.String())
			}
			if test.status == exitUnreachable {
				return
			}
			out.Reset()
			status = run(t.Context(), []string{"status", "--check", "-o", "json", "--addr", test.addr},
				streams{out: &out, err: &errs})
			var result checkResult
			if err := json.Unmarshal([]byte(out.String()), &result); err != nil || status != test.status ||
				result.Healthy != (status == exitDone) || result.Alerts == nil {
				t.Errorf("exit status %d, %v: %s", status, err, out.String())
			}
		})
	}
}
