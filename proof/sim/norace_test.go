//go:build !race

package sim_test

import "github.com/snowgrid/snowgrid/internal/long"

// seedsDefault returns how many grids are played.
func seedsDefault() int { return long.Or(16, 200) }
