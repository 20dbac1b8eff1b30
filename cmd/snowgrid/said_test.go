package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestClosedOutputIsNoError: when the reader of the output ends, as head does, the
// command succeeds without a message.
func TestClosedOutputIsNoError(t *testing.T) {
	addr := member(t, http.StatusOK, exampleStatus())
	for _, args := range []string{"status -o json --addr " + addr, "status --addr " + addr, "decode 235067008364840960"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = read.Close()
		var said strings.Builder
		status := run(t.Context(), strings.Fields(args), streams{out: write, err: &said})
		_ = write.Close()
		if status != exitDone || said.String() != "" {
			t.Errorf("%s: status %d, said %q", args, status, said.String())
		}
	}
	lost := &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}
	if readerGone(fmt.Errorf("call: %w", lost)) || readerGone(errors.New("disk full")) ||
		!readerGone(fmt.Errorf("print: %w", syscall.EPIPE)) {
		t.Error("a connection that a member closed is taken for a reader that has seen enough")
	}
}

// TestErrorsAreOneLine: an error is one line that begins with the program's name and
// repeats nothing.
func TestErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	refusing := member(t, http.StatusServiceUnavailable,
		wire.ErrorOf(fmt.Errorf("sequencer %q: %w", "orders", sequencer.ErrUnavailable), 1))
	tests := map[string]string{
		"status --addr " + refusing + " --addr 127.0.0.1:1":        "orders",
		"status --addr 127.0.0.1:1 --addr 127.0.0.1:2":             "127.0.0.1:2",
		"next orders --addr 127.0.0.1:1 --timeout 1500ms":          "no member answered at 127.0.0.1:1",
		"destroy orders --yes --addr 127.0.0.1:1 --timeout 1500ms": "no member answered at 127.0.0.1:1",
	}
	for args, part := range tests {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			checkOneLine(t, args, part)
		})
	}
}

func checkOneLine(t *testing.T, args, part string) {
	status, stdout, said := runCommand(t, strings.Fields(args)...)
	want := exitFailed
	if strings.Contains(args, "--addr 127.0.0.1:2") { // asks, and reaches no member
		want = exitUnreachable
	}
	if status != want || stdout != "" || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "snowgrid: ") ||
		!strings.Contains(said, part) {
		t.Errorf("%s: status %d, said %q", args, status, said)
	}
	if packagePrefix.MatchString(strings.TrimPrefix(said, "snowgrid: ")) {
		t.Errorf("%s: two prefixes: %q", args, said)
	}
	for _, sentence := range []string{"check that a majority", "connection refused", "unavailable"} {
		if args != "status --addr 127.0.0.1:1 --addr 127.0.0.1:2" && strings.Count(said, sentence) > 1 {
			t.Errorf("%s: %q is said %d times: %q", args, sentence, strings.Count(said, sentence), said)
		}
	}
}
