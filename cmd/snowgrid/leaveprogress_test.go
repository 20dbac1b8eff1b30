package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

func TestLeavingIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		left := 3
		status := func() grid.Status {
			s := grid.Status{Answering: "a", Members: []grid.MemberInfo{{Incarnation: "a"}, {Incarnation: "b"}}}
			if left < 0 { // the others have agreed that it left
				return grid.Status{Answering: "a", Members: []grid.MemberInfo{{Incarnation: "b"}}}
			}
			for range left {
				s.Partitions = append(s.Partitions, grid.PartitionInfo{Owner: "a", InSync: []string{"a", "b"}})
			}
			s.Partitions = append(s.Partitions, grid.PartitionInfo{Owner: "b", InSync: []string{"a", "b"}})
			left--
			return s
		}
		go reportLeaving(ctx, status, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(11 * time.Second)
		cancel()
		synctest.Wait()
		got := log.String()
		if strings.Count(got, "\n") != 5 || strings.Count(got, "waits_for") != 1 ||
			!strings.Contains(got, "elapsed=2s partitions_owned=3 copies=1") ||
			!strings.Contains(got, "elapsed=4s partitions_owned=2 copies=1\n") ||
			!strings.Contains(got, `elapsed=10s partitions_owned=0 copies=0 waits_for="the others to stop`) {
			t.Errorf("the log:\n%s", got)
		}
	})
}
