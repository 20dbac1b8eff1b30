// Package cycles reads the processor's cycle counter, which is several times faster than
// any clock, and finds out its pace.
//
// The counter may jump, differ between processors or stop while a machine is suspended.
// Nothing may rest on it but what may be late or early: it says when it is worth looking
// at a clock. On processors other than amd64 and arm64, and with -tags purego, it is the
// monotonic clock.
package cycles
