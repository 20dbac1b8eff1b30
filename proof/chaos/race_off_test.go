//go:build linux && !race

package chaos

import (
	"time"
)

// defaultChaos is how long faults happen unless -chaos-for says otherwise.
const defaultChaos = time.Minute
