//go:build race

package grid_test

const raceDetector = true
