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

// absentMost is the number of times that a probe's key may be missing when it is read and there when it is created, as
// when another client creates it. A server that stores nothing answers so each time, as by 404.
const absentMost = 3

// probe writes under conditions that do not hold. A store that accepts such a write would let two
// holders have one node.
//
// Errors: sequencer.ErrInvalidConfig, and the store's errors.
func (rs *recordStore) probe(ctx context.Context) error {
	key := rs.cfg.Prefix + probeKey
	for absent := 0; ; {
		e, err := rs.load(ctx, key)
		if errors.Is(err, ErrNoRecord) {
			absent++
			_, err = rs.swap(ctx, probeEntry(key, ""))
			if err == nil || errors.Is(err, ErrChanged) && absent < absentMost {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("store: probe %s: %w", nameOf(rs.store), err)
		}
		if err := rs.mustRefuse(ctx, probeEntry(key, ""), "that a key must not exist"); err != nil {
			return err
		}
		_, err = rs.swap(ctx, probeEntry(key, e.Revision))
		switch {
		case errors.Is(err, ErrChanged):
			continue // another client probes too
		case err != nil:
			return fmt.Errorf("store: probe %s: %w", nameOf(rs.store), err)
		}
		return rs.mustRefuse(ctx, probeEntry(key, e.Revision), "that a key is at a revision")
	}
}

// mustRefuse returns an error unless the store refuses a write.
func (rs *recordStore) mustRefuse(ctx context.Context, e Entry, condition string) error {
	switch _, err := rs.swap(ctx, e); {
	case err == nil:
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: %s ignores the condition %s, so it cannot keep two "+
			"holders apart; use a store, or a version of it, that enforces conditional writes", nameOf(rs.store), condition)
	case !errors.Is(err, ErrChanged):
		return fmt.Errorf("store: probe %s: %w", nameOf(rs.store), err)
	}
	return nil
}

func probeEntry(key string, revision Revision) Entry {
	return Entry{Key: key, Body: fmt.Appendf(nil, `{"nonce":%q}`, newNonce()), Revision: revision}
}
