//go:build !failpoints

package registrar

// AtCrashPoint does nothing.
func AtCrashPoint(CrashPoint) {}
