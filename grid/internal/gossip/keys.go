package gossip

import (
	"cmp"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
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

// Hindrance returns the reason that this member has no peers, if a dialed process has given one:
// another key, name or release. It is a hint, since in a gossip with a key that process has proved
// nothing.
func (g *Gossip) Hindrance() error {
	if g == nil || len(g.Peers()) > 1 {
		return nil
	}
	if refused := cmp.Or(g.transport.KeyRefusal(), g.transport.Refusal()); refused != nil {
		return refused
	}
	return nil
}

// Refused returns the refusal by an address that did not answer in the last round of the search, because of
// another key, name or release; nil for none. Unlike [Gossip.Hindrance] it concerns a member with peers, which
// may have the same earlier key as this one.
func (g *Gossip) Refused() error {
	if g == nil {
		return nil
	}
	for _, last := range []*transport.RefusedError{g.transport.KeyRefusal(), g.transport.Refusal()} {
		if last != nil && g.search.failed(last.Addr) {
			return last
		}
	}
	return nil
}
