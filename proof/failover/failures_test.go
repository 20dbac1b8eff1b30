//go:build unix

package main

import (
	"strings"
	"testing"
	"time"
)

func TestFailuresByName(t *testing.T) {
	got, err := failuresByName("stop,calm")
	if err != nil || len(got) != 2 || !got[0].stops || got[1].name != "calm" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := failuresByName("owner,ownr"); err == nil || !strings.Contains(err.Error(), `"ownr"`) {
		t.Errorf("an unknown case: %v", err)
	}
}

// TestBounds: a time at its bound is allowed, and a longer one is named.
func TestBounds(t *testing.T) {
	measured := times{3 * time.Second, time.Second, 2 * time.Second}
	for _, c := range []struct {
		median, longest time.Duration
		want            string
	}{
		{2 * time.Second, 3 * time.Second, ""},
		{0, 0, ""},
		{2*time.Second - 1, 0, "median 2s"},
		{0, 3*time.Second - 1, "longest 3s"},
	} {
		err := measured.check("it", c.median, c.longest)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("bounds %v and %v: %v", c.median, c.longest, err)
		}
	}
}
