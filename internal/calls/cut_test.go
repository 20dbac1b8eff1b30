package calls

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCutInClearTextNamesTLS: whether a server that speaks TLS ends a connection in clear text before, during or
// after the request is a matter of the moment, and the error names the remedy each time.
func TestCutInClearTextNamesTLS(t *testing.T) {
	of := func(op string, errno syscall.Errno) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)}
	}
	clearText := &Pool{}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, of("read", syscall.ECONNRESET),
		of("write", syscall.ECONNRESET), of("write", syscall.EPIPE), errors.New("malformed HTTP response")} {
		if got := clearText.explain(fmt.Errorf("call: %w", err)); !errors.Is(got, err) ||
			!strings.Contains(got.Error(), "give Security (--security-dir)") {
			t.Errorf("%v is explained as %v", err, got)
		}
	}
	if err := of("dial", syscall.ECONNREFUSED); clearText.explain(err).Error() != err.Error() {
		t.Errorf("%v is explained as a connection that was cut", err)
	}
}
