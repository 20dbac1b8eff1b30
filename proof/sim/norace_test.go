//go:build !race

package sim_test

import "github.com/snowgrid/snowgrid/internal/long"

// seedsDefault returns the number of grids to simulate.
func seedsDefault() int { return long.Or(16, 80) }
