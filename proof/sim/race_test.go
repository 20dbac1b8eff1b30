//go:build race

package sim_test

// seedsDefault returns a small number: the race detector is ten times slower.
func seedsDefault() int { return 4 }
