//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/snowgrid/snowgrid/grid"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// watchEvery is the interval of checks for lost partitions.
const watchEvery = 250 * time.Millisecond

// watchLosses writes a line for each partition that lost every copy of its table, when
// the member reports it: the time, the partition and the term. Attachments there may be
// forgotten, so the checker needs it.
func watchLosses(ctx context.Context, member *grid.Member, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	known := map[int]uint64{}
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		for _, p := range member.Status().Partitions {
			if p.LostTerm <= known[p.ID] {
				continue
			}
			known[p.ID] = p.LostTerm
			if _, err := fmt.Fprintln(out, int64(history.Now()), p.ID, p.LostTerm); err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}
