package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// TestNullDeviceIsNoTerminal: the input of a cron job is /dev/null, a character device.
func TestNullDeviceIsNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var stderr strings.Builder
	err = confirm(streams{in: null, err: &stderr}, "Destroy?")
	if err == nil || !strings.Contains(err.Error(), "give --yes") || stderr.String() != "" {
		t.Errorf("error %v, asked %q; want a refusal that names --yes, and no question", err, stderr.String())
	}
}

// TestCeilingBehindClusterTime: the distance of a ceiling that has passed has no sign.
func TestCeilingBehindClusterTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for lead, want := range map[time.Duration]string{13500 * time.Millisecond: " (13.5s ahead)",
		-10400 * time.Millisecond: " (10.4s behind)"} {
		if got := ahead(grid.Status{ClusterTime: now, Ceiling: now.Add(lead)}); got != want {
			t.Errorf("lead %v: %q, want %q", lead, got, want)
		}
	}
}
