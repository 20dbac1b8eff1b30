//go:build race

package gridtest_test

import "time"

// stormDefault is short where the race detector makes everything five times slower.
func stormDefault() time.Duration { return time.Minute }
