//go:build unix

package acceptor

import "syscall"

// waitingMax returns the maximum number of waiting streams: at most two fifths of the files that
// the process may open.
func waitingMax() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return waitingFew
	}
	return int(min(waitingMost, uint64(files.Cur)/5*2))
}
