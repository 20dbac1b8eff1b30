package grid

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// otherClaimAdvice is the remedy for two lives of one grid that meet.
const otherClaimAdvice = "processes that run on a copy of this grid's data reach this member: stop them. A member " +
	"left behind under an earlier claim joins again automatically"

// claims are the claims on a member's Raft streams. It implements transport.Claims.
type claims struct {
	*deps

	told librarylog.Sparse
}

func (c *claims) Own() (out [16]byte) {
	bits, _ := hex.DecodeString(string(c.state.Roster().Claim))
	copy(out[:], bits)
	return out
}

func (c *claims) Admit(claim [16]byte) error {
	r := c.state.Roster()
	if !r.Refuses(c.self, roster.Claim(hex.EncodeToString(claim[:]))) {
		return nil
	}
	c.state.NoteOtherClaim()
	if skipped, due := c.told.Due(c.state.Clock.Mono()); due {
		c.log.Warn("Raft stream refused: it has another claim", "claim", hex.EncodeToString(claim[:]), "own",
			string(r.Claim),
			"advice", otherClaimAdvice, "more", skipped)
	}
	return errors.New("grid: the Raft stream is for this grid under another anchor claim")
}

// claimKept is the time for which streams opened under an earlier anchor claim stay open: the log
// brings the later claim to the other side through them.
const claimKept = 10 * time.Second

// dropOthers closes the streams of earlier claims after each change of the claim, until ctx ends.
func (c *claims) dropOthers(ctx context.Context, stream *transport.RaftStream) {
	known := c.state.Roster().Claim
	for ctx.Err() == nil {
		changed := c.state.Changed()
		if claim := c.state.Roster().Claim; claim != known {
			known = claim
			signal.Sleep(ctx, claimKept)
			stream.DropOthers()
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
