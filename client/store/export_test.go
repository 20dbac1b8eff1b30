package store

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/handles"
)

// OpenExact is Open for a bubble of testing/synctest, whose time is not the processor's.
func OpenExact(ctx context.Context, s Store, cfg Config) (*Client, error) {
	return open(ctx, s, cfg, handles.NewExactClock())
}
