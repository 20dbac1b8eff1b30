//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestBounds: figures at their bounds are allowed, each broken bound is named, and a count of 0 bytes is an error.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		bytes, cores float64
		want         []string
	}{
		{*bytesMost, *coresMost, nil},
		{*bytesMost + 1, *coresMost, []string{"bytes"}},
		{*bytesMost + 1, 2 * *coresMost, []string{"bytes", "processors"}},
		{0, *coresMost, []string{"no packets"}},
	} {
		err := bounded(c.bytes, c.cores)
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%v bytes, %v processors: %v", c.bytes, c.cores, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v bytes, %v processors: %v, want %q", c.bytes, c.cores, err, want)
			}
		}
	}
}
