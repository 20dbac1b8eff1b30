//go:build race

package gridtest_test

import "time"

// stormDefault is short where the race detector makes everything five times slower.
const stormDefault = 60 * time.Second
