//go:build !linux

package main

import "os"

// readKeys does nothing: q needs Enter here.
func readKeys(*os.File) (restore func()) { return func() {} }
