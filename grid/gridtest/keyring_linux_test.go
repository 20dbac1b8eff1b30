package gridtest_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// unwritable returns the path of a file that can be read and not be written again: it has
// been deleted, and is open.
func unwritable(t *testing.T, like string) string {
	t.Helper()
	text, err := os.ReadFile(like)
	ok(t, "keys", err)
	file, err := os.Create(filepath.Join(t.TempDir(), "keys"))
	ok(t, "keys", err)
	t.Cleanup(func() { _ = file.Close() })
	_, err = file.Write(text)
	ok(t, "keys", err)
	ok(t, "keys", os.Remove(file.Name()))
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd())
}

// TestKeyringWhereNoFileCanBeWritten: the answer says that the change is in memory, and it
// stays when other files change.
func TestKeyringWhereNoFileCanBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log recorder
		g := gridtest.Start(t, gridtest.Config{Members: 2, Secured: true, Logger: log.logger(),
			Change: func(name string, c *grid.Config) {
				if name == "m2" {
					c.Security.GossipKeysFile = unwritable(t, filepath.Join(c.Security.Dir, security.GossipKeysFile))
				}
			}})
		before, next := keysInFile(t, g, "m1")[0], newKey('n')
		want := prints(before, next)
		for _, in := range []wire.KeyringRequest{{Operation: wire.KeyringInstall,
			Key: base64.StdEncoding.EncodeToString(next)}, {Operation: wire.KeyringList}} {
			out, err := keyringOf(t, g, "m1", security.Admin, in)
			ok(t, in.Operation, err)
			for _, m := range out.Members {
				if !slices.Equal(m.Keys, want) || (m.Unsaved != "") != (m.Name == "m2") {
					t.Errorf("%s: %+v, want %v", in.Operation, m, want)
				}
			}
			if len(out.Advice) != 1 || !strings.Contains(out.Advice[0], "m2") ||
				!strings.Contains(out.Advice[0], "only in memory") {
				t.Errorf("%s: advice %q", in.Operation, out.Advice)
			}
			g.Secrets().Reissue()
			time.Sleep(15 * time.Second)
		}
		if log.count("credentials reloaded") < 4 || log.count("gossip keys changed") != 2 ||
			log.count("gossip keys changed only in memory") != 1 {
			t.Errorf("logged: %v", log.messages)
		}
	})
}
