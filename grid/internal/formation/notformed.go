package formation

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
)

// NotFormed returns the reason that the member is in no grid yet, and the refusal by a member that it does not
// reach, which may be the cause: members that share an earlier gossip key see each other.
func (f *Formation) NotFormed() error {
	err := f.notFormed()
	if refused := f.gossip.Refused(); refused != nil && !errors.Is(err, refused) {
		return fmt.Errorf("%w; %s", err, refusal.Unprefixed(refused))
	}
	return err
}

func (f *Formation) notFormed() error {
	if f.cfg.Lone {
		return errors.New("the roster is not committed yet")
	}
	f.idMu.Lock()
	bound, grid, next, left := f.id.Accepted, f.id.Grid, f.next, f.previous.Grid
	f.idMu.Unlock()
	grids := f.gossip.Grids()
	switch hindrance := f.gossip.Hindrance(); {
	case hindrance != nil:
		return hindrance
	case grid.IsZero() && !left.IsZero():
		return f.notFollowed(left, next)
	case grid.IsZero() && len(grids) > 1:
		return fmt.Errorf("gossip lists %d grids with this name, and this member does not choose one: %s; %s",
			len(grids), gridsText(grids), gossip.ForeignAdvice)
	case !grid.IsZero():
		if warning := f.cfg.Warning(); warning != "" {
			return fmt.Errorf("grid %s: %s", grid, warning)
		}
		if node := f.raft.Node(); node != nil && f.cfg.DataDir != "" && node.Raft.LastIndex() == 0 {
			return fmt.Errorf("grid %s does not answer, and raft.db has no entry of it, as before the grid was formed; "+
				"if the file was restored, put the latest one back; otherwise check that a majority of its voters runs%s; %s",
				grid, f.andAnchor(), f.gossip.Seen())
		}
		return fmt.Errorf("grid %s does not answer; check that a majority of its voters runs%s; %s", grid, f.andAnchor(),
			f.gossip.Seen())
	case bound != (Attempt{}) && bound.BootstrapMember != f.id.Member:
		return fmt.Errorf("waiting for member %s to form the grid, until gossip has not seen it for %v; %s%s",
			bound.BootstrapMember, acceptanceLives, f.gossip.Seen(), f.boot.hindrance())
	case f.Expect() == 0:
		return fmt.Errorf("no grid member was found at %v, and Expect (--expect) is 0, so this member forms no grid; "+
			"%s", f.cfg.Join,
			f.gossip.Seen())
	}
	return fmt.Errorf("%d members are expected to form the grid; %s%s", f.Expect(), f.gossip.Seen(), f.boot.hindrance())
}

func (f *Formation) andAnchor() string {
	if !f.cfg.Anchored {
		return ""
	}
	return " and reaches the anchor"
}
