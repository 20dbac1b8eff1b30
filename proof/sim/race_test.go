//go:build race

package sim_test

// seedsDefault is small where the race detector makes everything ten times slower.
func seedsDefault() int { return 4 }
