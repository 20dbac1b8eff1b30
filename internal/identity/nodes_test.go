package identity

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

func openNodes(t *testing.T, dir string) *Nodes {
	t.Helper()
	n, err := OpenNodes(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

func wants(t *testing.T, n *Nodes, s *Seat, node sequencer.NodeID, previous attachment.ID, known bool) {
	t.Helper()
	gotNode, gotPrevious, gotKnown := n.Wanted(s)
	if gotKnown != known || known && (gotNode != node || gotPrevious != previous) {
		t.Errorf("wanted %d, attachment %x, known %v; want %d, %x, %v", gotNode, gotPrevious, gotKnown, node, previous, known)
	}
}

// TestNodesSurviveTheProcess: the next process has the seats of the one that was killed, each
// with its last attachment.
func TestNodesSurviveTheProcess(t *testing.T) {
	dir := t.TempDir()
	one, two := attachment.ID{1}, attachment.ID{2}
	n := openNodes(t, dir)
	a, b, other := n.Take("orders"), n.Take("orders"), n.Take("bills")
	wants(t, n, a, 0, attachment.ID{}, false)
	n.Attached(a, 5, attachment.ID{9})
	n.Attached(a, 17, one)
	n.Attached(b, 4, two)
	n.Attached(other, 3, one)
	n.Give(other, true)
	wants(t, n, a, 17, attachment.ID{}, true) // its own attachment is not an earlier one

	n = openNodes(t, dir) // the first one was not closed
	a, b = n.Take("orders"), n.Take("orders")
	wants(t, n, a, 17, one, true)
	wants(t, n, b, 4, two, true)
	wants(t, n, n.Take("orders"), 0, attachment.ID{}, false)
	wants(t, n, n.Take("bills"), 0, attachment.ID{}, false)
	n.Give(b, false)
	if again := n.Take("orders"); again != b {
		t.Error("a seat that was given up is not taken again")
	}
}

// TestDamagedNodesAreNoError: the lines that can be read count.
func TestDamagedNodesAreNoError(t *testing.T) {
	dir := t.TempDir()
	n := openNodes(t, dir)
	for i := range 3 {
		n.Attached(n.Take(fmt.Sprint("s", i)), sequencer.NodeID(i), attachment.ID{1})
	}
	path := filepath.Join(dir, NodesFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := len(data) / 3
	data[line+20] ^= 1
	if err := os.WriteFile(path, append(data[:len(data)-4], "\nnothing\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	n = openNodes(t, dir)
	wants(t, n, n.Take("s0"), 0, attachment.ID{1}, true)
	wants(t, n, n.Take("s1"), 0, attachment.ID{}, false)
	wants(t, n, n.Take("s2"), 0, attachment.ID{}, false)
}

// TestNodesFileIsBounded: the file does not grow with the attaches, nor with the handles.
func TestNodesFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	n := openNodes(t, dir)
	s := n.Take("orders")
	for i := range 10 * slack {
		n.Attached(s, sequencer.NodeID(i%100), attachment.ID{byte(i)})
	}
	info, err := os.Stat(filepath.Join(dir, NodesFile))
	if err != nil || info.Size() > 2*slack*100 {
		t.Errorf("the file has %d bytes after %d attaches, %v", info.Size(), 10*slack, err)
	}
	for i := 0; n.count < maxNodes; i++ {
		n.Take(fmt.Sprint("s", i))
	}
	if n.Take("one too many") != nil {
		t.Error("the seats have no end")
	}
	n = openNodes(t, dir)
	wants(t, n, n.Take("orders"), sequencer.NodeID((10*slack-1)%100),
		attachment.ID{byte((10*slack - 1) & 255)}, true)
}
