package gridtest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// sharedLog is a log of several members.
type sharedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *sharedLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *sharedLog) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// udpAlert returns the text of the alert about UDP, "" for none.
func udpAlert(s grid.Status) string {
	for _, a := range grid.Alerts(s) {
		if a.Name == "udp_blocked" {
			return a.Text
		}
	}
	return ""
}

// TestFormingWithoutUDP: where datagrams are lost, a grid forms in seconds, and the log, the status and an
// alert name UDP, until it works again.
func TestFormingWithoutUDP(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &sharedLog{}
		g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
		g.Network.DropDatagrams(true)
		began := time.Now()
		var names []string
		for i := range 3 {
			names = append(names, fmt.Sprintf("m%d", i+1))
		}
		g.StartMembers(names...)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("ready after %v", took)
		} else {
			t.Logf("ready after %v", took)
		}
		for _, m := range names {
			eventually(t, 15*time.Second, m+" has the alert", func() bool {
				text := udpAlert(g.Member(m).Status())
				return strings.Contains(text, ":7946") && strings.Contains(text, "(7946)")
			})
		}
		if !strings.Contains(log.String(), "allow UDP and TCP on the gossip ports") {
			t.Error("the log does not name UDP")
		}
		g.Network.DropDatagrams(false)
		eventually(t, 15*time.Second, "the alert ends", func() bool { return udpAlert(statusOf(t, g, "m1")) == "" })
		time.Sleep(20 * time.Second) // nothing is left to spread
		g.Network.DropDatagrams(true)
		eventually(t, 20*time.Second, "the alert is back", func() bool { return udpAlert(statusOf(t, g, "m1")) != "" })
	})
}
