//go:build linux && race

package chaos

import "time"

// defaultChaos is short here: the race detector sees only the test's own process, in
// which nothing is proved. The programs are built without it.
const defaultChaos = 15 * time.Second
