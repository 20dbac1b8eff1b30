//go:build !linux

package calls

import "syscall"

// setUserTimeout does nothing where the option does not exist: pings detect a broken path.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
