package grid

import "testing"

// TestAdvertiseHostInBrackets: an IPv6 address may be written as in host:port.
func TestAdvertiseHostInBrackets(t *testing.T) {
	for host, want := range map[string]string{"[::1]": "::1", "::1": "::1", "[": "[", "a.example": "a.example", "": ""} {
		if got := (Config{AdvertiseHost: host}).withDefaults().AdvertiseHost; got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}
