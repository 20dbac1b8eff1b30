package mixed

import (
	"time"

	"github.com/snowgrid/snowgrid/client/store"
)

// WithWindows returns a store whose clients have windows up to a maximum.
func WithWindows(s store.Store, most time.Duration) store.Store {
	s.(*mixedStore).windowMax = most
	return s
}
