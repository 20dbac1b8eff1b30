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

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// udpLog is a log of several members.
type udpLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *udpLog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// TestFormingWithoutUDP: where datagrams are lost, a grid forms in seconds, and the log names UDP.
func TestFormingWithoutUDP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &udpLog{}
		g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
		g.Network.DropDatagrams()
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
		if !strings.Contains(log.text.String(), "allow UDP and TCP on the gossip ports") {
			t.Error("the log does not name UDP")
		}
	})
}
