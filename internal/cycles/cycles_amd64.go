//go:build !purego

package cycles

// Now reads the processor's time stamp counter. It is not ordered with the
// instructions around it, and need not be.
func Now() int64

// invariant reports whether the counter has one pace whatever the processor does
// (CPUID 8000_0007H, EDX bit 8).
func invariant() bool
