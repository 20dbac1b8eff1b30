package gridtest_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// TestKeyringChangesTogether: of two changes that operators make at the same time by different members, one is refused
// with that cause, or both; the members have the same keys, and the change can be repeated immediately.
func TestKeyringChangesTogether(t *testing.T) {
	t.Parallel()
	second, third := newKey('2'), newKey('3')
	for what, two := range map[string][2]wire.KeyringRequest{
		"use and remove": {{Operation: wire.KeyringUse, Fingerprint: security.Fingerprint(second)},
			{Operation: wire.KeyringRemove, Fingerprint: security.Fingerprint(second)}},
		"two uses": {{Operation: wire.KeyringUse, Fingerprint: security.Fingerprint(second)},
			{Operation: wire.KeyringUse, Fingerprint: security.Fingerprint(third)}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Delay: 50 * time.Millisecond})
				for _, key := range [][]byte{second, third} {
					_, err := keyringOf(t, g, "m1", security.Admin, wire.KeyringRequest{Operation: wire.KeyringInstall,
						Key: base64.StdEncoding.EncodeToString(key)})
					ok(t, "install", err)
				}
				var both sync.WaitGroup
				refused := make([]error, 2)
				for i, member := range []string{"m1", "m2"} {
					both.Go(func() {
						out, err := keyringOf(t, g, member, security.Admin, two[i])
						if refused[i] = err; err == nil && len(out.Advice) > 0 {
							t.Errorf("%s by %s: %+v", two[i].Operation, member, out)
						}
					})
				}
				both.Wait()
				if refused[0] == nil && refused[1] == nil {
					t.Error("both changes were made")
				}
				for i, err := range refused {
					if err != nil && !strings.Contains(err.Error(), "another change of gossip keys is in progress") {
						t.Errorf("%s: %v", two[i].Operation, err)
					}
				}
				for _, name := range g.Running() {
					if got, all := keysInFile(t, g, name), keysInFile(t, g, "m1"); !slices.Equal(prints(got...), prints(all...)) {
						t.Errorf("%s has %v, and m1 has %v", name, prints(got...), prints(all...))
					}
				}
				out, err := keyringOf(t, g, "m3", security.Admin, two[1])
				if err != nil || len(out.Advice) > 0 {
					t.Errorf("repeated: %+v, %v", out, err)
				}
			})
		})
	}
}
