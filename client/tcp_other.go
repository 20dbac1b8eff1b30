//go:build !linux

package client

import "syscall"

// setUserTimeout does nothing where the option does not exist: pings detect a broken path.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
