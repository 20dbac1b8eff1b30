package gossip

import (
	"cmp"
	"log/slog"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
)

// Keys returns the gossip keys, the first of which encrypts; none for clear text.
func (g *Gossip) Keys() [][]byte {
	if g == nil {
		return nil
	}
	return g.keys.Keys()
}

// SetKeys replaces the keys of a gossip that has some. A gossip in clear text stays so.
func (g *Gossip) SetKeys(keys [][]byte) error {
	if g.keys == nil {
		return refusal.Invalid("the gossip runs without a key; give the member its keys and restart it")
	}
	return g.keys.Set(keys)
}

// reportRefused logs messages from processes that have another key, or none.
func (g *Gossip) reportRefused(err error) {
	g.cfg.Library.Report(slog.LevelWarn, "gossip message refused", "a process has another gossip key", "error",
		err.Error())
}

// Hindrance returns the reason that this member has no peers, if a dialed process has given one:
// another key, name or release. It is a hint, since in a gossip with a key that process has proved
// nothing.
func (g *Gossip) Hindrance() error {
	if g == nil || len(g.Peers()) > 1 {
		return nil
	}
	return cmp.Or(g.transport.KeyRefusal(), g.transport.Refusal())
}
