package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestDialInClearTextToTLS: a Dial in clear text to a process that speaks TLS names the cause and
// the remedy, whether the process answers the bytes that it cannot read or ends the connection.
func TestDialInClearTextToTLS(t *testing.T) {
	answers := httptest.NewTLSServer(nil)
	t.Cleanup(answers.Close)
	ends := tlsListener(t, answers.TLS)
	for name, addr := range map[string]string{"answers": answers.Listener.Addr().String(), "ends": ends} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := Dial(ctx, Config{Addrs: []string{addr}})
			if !errors.Is(err, sequencer.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "TLS") || !strings.Contains(err.Error(), "give Security (--security-dir)") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// tlsListener listens for TLS, and ends connections in clear text without an answer.
func tlsListener(t *testing.T, conf *tls.Config) string {
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	go func() {
		for {
			conn, err := in.Accept()
			if err != nil {
				return
			}
			_ = tls.Server(conn, conf).Handshake()
			_ = conn.Close()
		}
	}()
	return in.Addr().String()
}
