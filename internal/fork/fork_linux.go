package fork

import (
	"syscall"
	"unsafe"
)

// wipeOnFork is MADV_WIPEONFORK of madvise(2).
const wipeOnFork = 18

// mark returns a number on a page of its own that the child of a fork has zeroed, or one on the
// heap where the kernel does not offer that.
func mark() *uint32 {
	data, err := syscall.Mmap(-1, 0, syscall.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return new(uint32(1))
	}
	if syscall.Madvise(data, wipeOnFork) != nil {
		_ = syscall.Munmap(data)
		return new(uint32(1))
	}
	p := (*uint32)(unsafe.Pointer(unsafe.SliceData(data)))
	*p = 1
	return p
}
