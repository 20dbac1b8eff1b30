//go:build !race

package sim_test

const seedsDefault = 200
