package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// probeKey is the key below the prefix by which a client tries a store's conditions.
const probeKey = "probe.json"

// probe writes under conditions that do not hold. A store that accepts such a write would let two
// holders have one node.
//
// Errors: sequencer.ErrInvalidConfig, and the store's errors.
func (c *Client) probe(ctx context.Context) error {
	key := c.cfg.Prefix + probeKey
	for {
		e, err := c.load(ctx, key)
		if errors.Is(err, ErrNoRecord) {
			_, err = c.swap(ctx, probeEntry(key, ""))
			if err == nil || errors.Is(err, ErrChanged) {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("store: probe %s: %w", nameOf(c.store), err)
		}
		if err := c.mustRefuse(ctx, probeEntry(key, ""), "that a key must not exist"); err != nil {
			return err
		}
		_, err = c.swap(ctx, probeEntry(key, e.Revision))
		switch {
		case errors.Is(err, ErrChanged):
			continue // another client probes too
		case err != nil:
			return fmt.Errorf("store: probe %s: %w", nameOf(c.store), err)
		}
		return c.mustRefuse(ctx, probeEntry(key, e.Revision), "that a key is at a revision")
	}
}

// mustRefuse returns an error unless the store refuses a write.
func (c *Client) mustRefuse(ctx context.Context, e Entry, condition string) error {
	switch _, err := c.swap(ctx, e); {
	case err == nil:
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: %s ignores the condition %s, so it cannot keep two holders apart; use a store, or a version of it, that enforces conditional writes", nameOf(c.store), condition)
	case !errors.Is(err, ErrChanged):
		return fmt.Errorf("store: probe %s: %w", nameOf(c.store), err)
	}
	return nil
}

func probeEntry(key string, revision Revision) Entry {
	return Entry{Key: key, Body: fmt.Appendf(nil, `{"nonce":%q}`, newNonce()), Revision: revision}
}
