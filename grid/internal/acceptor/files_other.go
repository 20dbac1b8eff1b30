//go:build !unix

package acceptor

// waitingMax returns how many streams may wait.
func waitingMax() int { return waitingFew }
