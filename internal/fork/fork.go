// Package fork tells a process that is a copy of another one, made by fork without exec, from
// its original: both would issue the same IDs.
//
// On Linux 4.14 and later one page of memory is marked to be zeroed in the child of a fork
// (MADV_WIPEONFORK). Looking at it costs a load. Elsewhere no copy is noticed, and nowhere is one
// by a machine snapshot or CRIU.
package fork

// page points to a number that is 1, and 0 in the child of a fork.
var page = mark()

// Copied reports whether this process is the child of a fork.
func Copied() bool { return *page == 0 }
