//go:build purego || !(amd64 || arm64)

package cycles

import "time"

var started = time.Now()

// Now reads the monotonic clock, on processors without a supported counter and with
// -tags purego.
func Now() int64 { return int64(time.Since(started)) }

// invariant reports whether the counter has one pace.
func invariant() bool { return true }
