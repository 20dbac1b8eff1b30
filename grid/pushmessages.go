package grid

import (
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// newPush returns a push of commands, or of a whole roster if image has one.
func newPush(entries []follow.Entry, image follow.Image) (wire.PushRequest, error) {
	var p wire.PushRequest
	var err error
	if image.Roster != nil {
		p.At = uint64(image.At)
		p.Roster, err = wire.EncodeRoster(image.Roster)
		return p, err
	}
	for _, e := range entries {
		data, err := wire.EncodeCommand(e.Command)
		if err != nil {
			return p, err
		}
		p.Commands = append(p.Commands, wire.PushedCommand{After: uint64(e.After), At: uint64(e.At), Command: data})
	}
	return p, nil
}

// votersMost bounds the voters in a push. It exceeds MaxVoters by far: a voter that leaves or is dead keeps its vote
// until another member has one, and all can leave in turn. A learner that refuses pushes grants nothing new.
const votersMost = 8 * roster.MaxVoters

// pushOf returns a push as this member's part in the agreement takes it. age is its maximum age, negative if unknown.
func pushOf(in wire.PushRequest, age time.Duration) (p raftlog.Push, err error) {
	p = raftlog.Push{Told: follow.Told{Leader: in.Leader, Term: in.Term, Key: in.Key, Voters: in.Voters}}
	if follow.Fresh(age) {
		p.Time = in.Time
	}
	if len(in.Voters) > votersMost {
		return p, failure.Errorf(wire.ErrBadRequest, "grid: a push with %d voters; at most %d are allowed", len(in.Voters),
			votersMost)
	}
	p.Entries, p.Image, err = contentsOf(in)
	return p, err
}

// contentsOf is the inverse of newPush. It parses commands and rosters as strictly as the log does.
func contentsOf(p wire.PushRequest) (entries []follow.Entry, image follow.Image, err error) {
	if len(p.Commands) > follow.Kept {
		return nil, image, failure.Errorf(wire.ErrBadRequest, "grid: a push with %d commands; send at most %d",
			len(p.Commands), follow.Kept)
	}
	for _, c := range p.Commands {
		command, err := wire.DecodeCommand(c.Command)
		if err != nil {
			return nil, image, failure.Errorf(wire.ErrBadRequest, "grid: push: command %d: %w", c.At, err)
		}
		entries = append(entries, follow.Entry{After: follow.Position(c.After), At: follow.Position(c.At), Command: command})
	}
	if len(p.Roster) == 0 {
		return entries, image, nil
	}
	r, err := wire.DecodeRoster(p.Roster)
	if err != nil {
		return nil, image, failure.Errorf(wire.ErrBadRequest, "grid: push: roster %d: %w", p.At, err)
	}
	return entries, follow.Image{At: follow.Position(p.At), Roster: r}, nil
}

// ageAt returns the maximum age of a push when it arrives, by the receiver's monotonic clock;
// negative if unknown.
func ageAt(p wire.PushRequest, mono time.Duration) time.Duration {
	answered := time.Duration(p.Echo) * time.Millisecond
	if answered <= 0 || answered > mono {
		return -1
	}
	return mono - answered
}
