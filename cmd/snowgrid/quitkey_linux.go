package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// readKeys has a terminal give each key as it is typed, and not print it, until restore.
func readKeys(terminal *os.File) (restore func()) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	keys := *before
	keys.Lflag &^= unix.ICANON | unix.ECHO
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	_ = unix.IoctlSetTermios(fd, unix.TCSETS, &keys) // else q needs Enter
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }
}

// columns returns the width of a terminal, 0 if it is not known.
func columns(terminal *os.File) int {
	size, err := unix.IoctlGetWinsize(int(terminal.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
