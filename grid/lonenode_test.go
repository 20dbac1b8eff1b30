package grid

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLoneMembersApart: lone members that run at the same time take different logical nodes, but for
// chance, and warn where no logger is set, too.
func TestLoneMembersApart(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	var said bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	defer slog.SetDefault(before)
	var mu sync.Mutex
	nodes := map[sequencer.NodeID]bool{}
	const members = 4
	var starting sync.WaitGroup
	for range members {
		starting.Go(func() { startApart(t, func(node sequencer.NodeID) { mu.Lock(); nodes[node] = true; mu.Unlock() }) })
	}
	starting.Wait()
	if len(nodes) < 2*members-1 { // one pair of eight in 290 runs
		t.Errorf("%d handles of %d members have the nodes %v", 2*members, members, nodes)
	}
	if n := strings.Count(said.String(), "this member runs alone"); n != members {
		t.Errorf("%d warnings of %d members:\n%s", n, members, said.String())
	}
}

// startApart starts a lone member, whose handles of two sequencers report their nodes.
func startApart(t *testing.T, has func(sequencer.NodeID)) {
	m, err := Start(t.Context(), Config{})
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { _ = m.Close() })
	for _, name := range []string{"orders", "invoices"} {
		s, err := m.CreateSequencer(t.Context(), name, sequencer.Config{})
		if err == nil {
			_, err = s.Next(context.Background())
		}
		if err != nil {
			t.Error(err)
			return
		}
		node, _ := s.LogicalNode()
		has(node)
	}
}

// TestLoneMemberUsesAllNodes: a node that is taken already is replaced by another one.
func TestLoneMemberUsesAllNodes(t *testing.T) {
	t.Parallel()
	m, err := Start(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	s, err := m.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 128}, attachment.MaxStripes)
	if err == nil {
		_, err = m.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 128}, 128-attachment.MaxStripes)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
}
