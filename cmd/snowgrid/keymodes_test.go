package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestAgentWithReadableKeys: an agent does not start with a private key or gossip keys that every user may
// read, and warns about keys that the group may change.
func TestAgentWithReadableKeys(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("file modes carry no meaning on Windows")
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0") // ends an agent that gets past its checks
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	const refused, warned = "every user may read", "private key is not private"
	for _, name := range []string{"member.key", "gossip.keys"} {
		for mode, says := range map[os.FileMode]string{0o600: "", 0o640: "", 0o660: warned, 0o604: refused, 0o644: refused} {
			dir := secureDir(t)
			if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
				t.Fatal(err)
			}
			status, _, stderr := runCommand(t, "agent", "--security-dir", dir, "--expect", "1", "--gossip-addr",
				"127.0.0.1:0", "--raft-addr", "127.0.0.1:0", "--api-addr", taken.Addr().String())
			for _, text := range []string{refused, warned} {
				if strings.Contains(stderr, text) != (text == says) {
					t.Errorf("%s of mode %v: it should say %q: status %d, %s", name, mode, says, status, stderr)
				}
			}
			if (status == exitUsage) != (says == refused) || says != "" && !strings.Contains(stderr, filepath.Join(dir, name)) {
				t.Errorf("%s of mode %v: status %d, %s", name, mode, status, stderr)
			}
		}
	}
}
