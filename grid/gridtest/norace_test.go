//go:build !race

package gridtest_test

import (
	"time"
)

const stormDefault = 10 * time.Minute
