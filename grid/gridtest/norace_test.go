//go:build !race

package gridtest_test

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

// stormDefault returns how long the faults of TestStorm last.
func stormDefault() time.Duration { return long.Or(time.Minute, 10*time.Minute) }
