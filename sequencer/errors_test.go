package sequencer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestSentinelsAreDistinct: no sentinel has a prefix, since each arrives inside a text
// that has one.
func TestSentinelsAreDistinct(t *testing.T) {
	sentinels := []error{
		sequencer.ErrDetached, sequencer.ErrAttached, sequencer.ErrDestroyed,
		sequencer.ErrConflict, sequencer.ErrNotFound, sequencer.ErrNoFreeNode,
		sequencer.ErrGrantExpired, sequencer.ErrEpochExhausted,
		sequencer.ErrInvalidConfig, sequencer.ErrUnavailable, sequencer.ErrClosed, sequencer.ErrInvalidID,
		sequencer.ErrQuota, sequencer.ErrFenced,
	}
	texts := make(map[string]bool)
	for i, a := range sentinels {
		if strings.HasPrefix(a.Error(), "sequencer") {
			t.Errorf("%q has a prefix", a)
		}
		if texts[a.Error()] {
			t.Errorf("%q is the text of two errors", a)
		}
		texts[a.Error()] = true
		for _, b := range sentinels[:i] {
			if errors.Is(a, b) || errors.Is(b, a) {
				t.Errorf("%q and %q match", a, b)
			}
		}
	}
}

// TestEachErrorOfAnIDMatches: what is not an ID is ErrInvalidID, in every encoding and both ways.
func TestEachErrorOfAnIDMatches(t *testing.T) {
	var id sequencer.ID
	d := define(t, "orders", sequencer.Config{})
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"parse":              second(sequencer.Parse("-1")),
		"parse a large one":  second(sequencer.Parse("9223372036854775808")),
		"bytes":              second(sequencer.FromBytes([]byte{1})),
		"negative bytes":     second(sequencer.FromBytes([]byte{255, 0, 0, 0, 0, 0, 0, 0})),
		"text":               id.UnmarshalText([]byte("x")),
		"write text":         second(sequencer.ID(-1).MarshalText()),
		"json":               id.UnmarshalJSON([]byte(`1.5`)),
		"json null":          id.UnmarshalJSON([]byte(`null`)),
		"write json":         second(sequencer.ID(-1).MarshalJSON()),
		"binary":             id.UnmarshalBinary(nil),
		"cbor":               id.UnmarshalCBOR([]byte{0xf6}),
		"write cbor":         second(sequencer.ID(-1).MarshalCBOR()),
		"messagepack":        id.UnmarshalMsgpack([]byte{0xc0}),
		"write messagepack":  second(sequencer.ID(-1).MarshalMsgpack()),
		"scan a number":      id.Scan(int64(-1)),
		"scan a large one":   id.Scan(uint64(1 << 63)),
		"scan null":          id.Scan(nil),
		"scan another type":  id.Scan(1.5),
		"write to databases": second(sequencer.ID(-1).Value()),
		"an early time":      second(d.Compose(sequencer.Parts{})),
		"a late time":        second(d.Compose(sequencer.Parts{Time: d.Exhausted()})),
		"no node":            second(d.Compose(sequencer.Parts{Time: d.Config().Epoch.Time(), Node: 8192})),
		"no counter":         second(d.Compose(sequencer.Parts{Time: d.Config().Epoch.Time(), Counter: 1 << 20})),
	} {
		if !errors.Is(err, sequencer.ErrInvalidID) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if id != 0 {
		t.Errorf("an error changed the ID to %v", id)
	}
}
