package raftlog

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const dropAgain = time.Second

// An older release rejects entries of a later protocol even if the roster no longer needs them. So
// after a change to a lower protocol each member takes a snapshot and drops every entry that it
// covers: from then on the older release can read its disk and its messages.

// noteLowered has [Server.DropUnread] drop the entries before a change to a lower protocol.
func (s *Server) noteLowered(before, after *roster.Roster) {
	if after.InUse() >= before.InUse() {
		return
	}
	select {
	case s.lowered <- struct{}{}:
	default:
	}
}

// DropUnread drops the log entries that an older release does not read, each time
// when the roster no longer needs their protocol. It runs until ctx ends.
func (s *Server) DropUnread(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.lowered:
		}
		err := s.dropCovered(s.Node())
		for ; err != nil; err = s.dropCovered(s.Node()) { // Raft takes none while its servers change
			s.cfg.Log.Debug("log not shortened yet", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(dropAgain):
			}
		}
		s.cfg.Log.Info("log shortened: the older release reads it again", "protocol", int(s.cfg.State.Roster().InUse()))
	}
}

// dropCovered takes a snapshot, and drops every entry that it covers.
func (s *Server) dropCovered(node *Node) error {
	if !node.Runs() {
		return nil
	}
	usual := node.Raft.ReloadableConfig()
	short := usual
	short.TrailingLogs = 0
	if err := node.Raft.ReloadConfig(short); err != nil {
		return err
	}
	err := node.snapshot()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		err = nil
	}
	return errors.Join(err, node.Raft.ReloadConfig(usual))
}
