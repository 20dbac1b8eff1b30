package host

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestFailedDiskIsNamed: an answer that a member grants nothing, or not now, names its disk if that has failed.
func TestFailedDiskIsNamed(t *testing.T) {
	dir := t.TempDir()
	stores, err := raftlog.OpenStores(dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stores.Close() })
	o := &actor{host: &Host{deps: &deps{raft: raftlog.NewServer(raftlog.ServerConfig{Stores: stores})}}}
	if got := o.explain(partition.ErrEnded); !errors.Is(got, partition.ErrEnded) {
		t.Errorf("while the disk works: %v", got)
	}
	_ = stores.Disk.Fail("writing", syscall.ENOSPC)
	for err, named := range map[error]bool{partition.ErrEnded: true, sequencer.ErrUnavailable: true,
		sequencer.ErrConflict: false} {
		got := o.explain(err)
		if !errors.Is(got, err) || strings.Contains(got.Error(), dir) != named {
			t.Errorf("after its disk has failed: %v", got)
		}
	}
	if o.explain(nil) != nil {
		t.Error("a success is explained")
	}
}
