package store

import (
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNamesThatLookEqualAreNotCreated: such a name of an earlier release stays in use until
// it is destroyed.
func TestNamesThatLookEqualAreNotCreated(t *testing.T) {
	inBubble(t, func(b *bench) {
		const name = "orders "
		c := b.client()
		_, err := c.CreateSequencer(b.Context(), name, sequencer.Config{})
		b.wants(err, sequencer.ErrInvalidConfig)
		def, err := sequencer.Define(name, sequencer.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.begin(b.Context(), record.NewDocument(def, randomBytes(), newNonce()), ""); err == nil {
			b.Fatal("written, and not read again")
		}
		s, err := c.CreateSequencer(b.Context(), name, sequencer.Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.next(s)
		if err := c.DestroySequencer(b.Context(), name); err != nil {
			b.Fatal(err)
		}
		_, err = b.client().CreateSequencer(b.Context(), name, sequencer.Config{})
		b.wants(err, sequencer.ErrInvalidConfig)
	})
}

func TestEpochsInSecondsAreNotCreated(t *testing.T) {
	inBubble(t, func(b *bench) {
		cfg := sequencer.Config{Epoch: epoch.UnixMilli(1_767_225_600), Layout: sequencer.JSSafe()}
		_, err := b.client().CreateSequencer(b.Context(), "orders", cfg)
		b.wants(err, sequencer.ErrInvalidConfig)
	})
}
