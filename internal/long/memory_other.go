//go:build !linux

package long

// InMemory returns false: the temporary directories of tests stay on the disk.
func InMemory() bool { return false }
