//go:build !unix

package gridtest_test

import "time"

// processor returns 0: the time is measured on Unix alone.
func processor() time.Duration { return 0 }
