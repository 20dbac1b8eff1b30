package gridtest_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/membership"
)

// TestSubscribeProbesNothing: the reply to a subscribe is one text for an open port, a closed one, a host
// that does not answer and a name that does not exist; each has an audit line, as has an unsubscribe.
func TestSubscribeProbesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &auditLog{}
		g := gridtest.Start(t, gridtest.Config{Members: 2, Logger: slog.New(slog.NewJSONHandler(log, nil)),
			Change: func(name string, c *grid.Config) {
				if c.FirstLife = true; name == "m2" {
					c.Network = &nameless{Network: c.Network, lacks: "internal.example"}
				}
			}})
		open, err := g.Network.Host("other").Listen(":22")
		ok(t, "listen", err)
		defer func() { _ = open.Close() }()
		go func() {
			for conn, err := open.Accept(); err == nil; conn, err = open.Accept() {
				_, _ = conn.Write([]byte("SSH-2.0-x\r\n"))
				_ = conn.Close()
			}
		}()
		texts := map[string]string{}
		for what, addr := range map[string]string{"open": "other:22", "closed": "other:23", "no host": "10.9.9.9:22",
			"no name": "internal.example:22"} {
			host, port, _ := strings.Cut(addr, ":")
			status, answer := request(t, g, "operator", http.MethodPost, "m2:7948", membership.PathSubscribe,
				fmt.Sprintf(`{"address":%q,"protocolPort":%s}`, host, port))
			if status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d: %s", what, status, answer)
			}
			texts[strings.ReplaceAll(answer, addr, "ADDR")] = what
		}
		if len(texts) != 1 {
			t.Errorf("the replies differ: %q", texts)
		}
		if lines := log.of(t, "subscribe"); len(lines) != 4 {
			t.Errorf("%d audit lines of 4 subscribes: %+v", len(lines), lines)
		}
		if status, answer := request(t, g, "operator", http.MethodPost, "m2:7948", membership.PathUnsubscribe,
			"{}"); status != http.StatusOK {
			t.Errorf("unsubscribe: %d: %s", status, answer)
		}
		if lines := log.of(t, "unsubscribe"); len(lines) != 1 || lines[0].Host != "m2" || lines[0].Result != "ok" ||
			lines[0].Who == "" {
			t.Errorf("the audit lines of an unsubscribe: %+v", lines)
		}
	})
}
