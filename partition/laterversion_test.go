package partition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHolderOfALaterVersion: a renewal that shows a later roster version than the owner's waits. If the grid was
// started from a backup, the version does not come for long, so the error has a remedy besides a retry.
func TestHolderOfALaterVersion(t *testing.T) {
	p := newLimitedPair(t)
	c := claim(p.ref, 1)
	c.Version = p.roster.Version + 1
	err := p.renew("h", c)
	if !errors.Is(err, sequencer.ErrUnavailable) || !strings.Contains(err.Error(), "start the holder's process again") {
		t.Errorf("a renewal of a later version: %v", err)
	}
	c.Version--
	if err := p.renew("h", c); err != nil {
		t.Errorf("a renewal of the owner's version: %v", err)
	}
}
