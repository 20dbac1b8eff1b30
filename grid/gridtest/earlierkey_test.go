package gridtest_test

import (
	"encoding/base64"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestMembersWithAnEarlierKeyTogether: members that start with an earlier key see each other, and the error of each
// start names the key, not only the members that it lacks.
func TestMembersWithAnEarlierKeyTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Secured: true, Durable: true, Change: joinersExpectNothing(4)})
		before, next := keysInFile(t, g, "m1")[0], newKey('n')
		copyKeys(t, g, "m1", "m5") // a new member with the earlier key
		g.Crash("m4")
		for _, name := range []string{"m1", "m2", "m3"} {
			ok(t, "keys", os.WriteFile(keysFile(g, name), []byte(base64.StdEncoding.EncodeToString(next)), 0o600))
		}
		time.Sleep(15 * time.Second)
		var starts sync.WaitGroup
		for _, name := range []string{"m4", "m5"} {
			starts.Go(func() {
				err := g.TryMember(within(t, 20*time.Second), name)
				if err == nil || !strings.Contains(err.Error(), "the gossip key differs") {
					t.Errorf("%s with the key %v, where the grid has %v: %v", name, prints(before), prints(next), err)
				}
			})
		}
		starts.Wait()
		copyKeys(t, g, "m1", "m4")
		copyKeys(t, g, "m1", "m5")
		g.StartMembers("m4", "m5")
	})
}
