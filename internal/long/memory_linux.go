package long

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	memory     = "/dev/shm"
	memoryFree = 1 << 30 // bytes; containers often have 64 MiB there
)

// InMemory keeps the temporary directories of tests in memory where Linux has a file system for that, for
// packages whose members wait for their disks most: what a crash of a process loses is the same on both. They
// stay on the disk with -long, if TMPDIR is set, and if less than 1 GiB is free. It reports whether
// they are in memory. TestMain calls it after flag.Parse.
func InMemory() bool {
	var fs unix.Statfs_t
	if *enabled || os.Getenv("TMPDIR") != "" || unix.Access(memory, unix.W_OK) != nil {
		return false
	}
	if err := unix.Statfs(memory, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return false
	}
	if fs.Bavail*uint64(fs.Bsize) < memoryFree { //nolint:gosec // a block's size is positive
		return false
	}
	return os.Setenv("TMPDIR", memory) == nil
}
