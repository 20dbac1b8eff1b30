//go:build !linux

package long

// InMemory does nothing: the temporary directories of tests stay on the disk.
func InMemory() {}
