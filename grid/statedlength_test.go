package grid_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestAPIRefusesAStatedLength: a body whose stated length is beyond the limit is refused before it is sent, and is not
// asked for. It took a place among the bodies in progress, for 10 s.
func TestAPIRefusesAStatedLength(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for _, header := range []string{"", "Expect: 100-continue\r\n"} {
		conn, err := net.Dial("tcp", m.Addrs().API) //nolint:noctx // loopback
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(8 * time.Second)) // the body may take 10
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"+
			"%sContent-Length: %d\r\n\r\n{", wire.PathIDs, header, wire.MaxBody+1); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "larger than 1048576 bytes") {
			t.Errorf("%q: %s: %s", header, res.Status, body)
		}
	}
}
