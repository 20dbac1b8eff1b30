//go:build !linux

package main

import "os"

// readKeys does nothing: q needs Enter here.
func readKeys(*os.File) (restore func()) { return func() {} }

// columns returns 0: the width of a terminal is not known here.
func columns(*os.File) int { return 0 }
