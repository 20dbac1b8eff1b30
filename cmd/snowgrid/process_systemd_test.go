//go:build unix

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// notifySocket is a service manager's end of NOTIFY_SOCKET.
type notifySocket struct {
	t *testing.T
	*net.UnixConn
}

// listenNotify makes the socket and names it in the environment of processes that the
// test starts.
func listenNotify(t *testing.T) notifySocket {
	t.Helper()
	addr := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", addr.Name)
	return notifySocket{t, conn}
}

// next returns the next message.
func (n notifySocket) next() string {
	n.t.Helper()
	if err := n.SetReadDeadline(time.Now().Add(patience)); err != nil {
		n.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	size, err := n.Read(buf)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(buf[:size])
}

// await reads messages up to the one with a line, and returns that message.
func (n notifySocket) await(line string) string {
	n.t.Helper()
	for {
		message := n.next()
		for said := range strings.Lines(message) {
			if strings.TrimSpace(said) == line {
				return message
			}
		}
	}
}

// TestServiceManager: systemd hears that the agent waits, serves, works, reloads and stops,
// in this order.
func TestServiceManager(t *testing.T) {
	manager := listenNotify(t)
	t.Setenv("WATCHDOG_USEC", "200000")
	agent := startAgent(t, "127.0.0.1:0", "--expect", "1", "--name", "watched")

	manager.await("STATUS=waiting for no other member")
	ready := manager.await("READY=1")
	if want := "STATUS=serving grid watched, API " + agent.api; !strings.Contains(ready, want) {
		t.Errorf("READY=1 came with %q, want %q", ready, want)
	}
	for range 3 {
		manager.await("WATCHDOG=1")
	}
	agent.signal(syscall.SIGHUP)
	if reloading := manager.await("RELOADING=1"); !strings.Contains(reloading, "MONOTONIC_USEC=") {
		t.Errorf("RELOADING=1 came with %q", reloading)
	}
	manager.await("READY=1")
	agent.signal(syscall.SIGTERM)
	if stopping := manager.await("STOPPING=1"); !strings.Contains(stopping, "STATUS=leaving the grid") {
		t.Errorf("STOPPING=1 came with %q", stopping)
	}
	if status := agent.exit(); status != exitDone {
		t.Errorf("exit status %d", status)
	}
}

// TestNoSignOfLifeWhileItHangs: while the probe hangs no message is sent, so that systemd
// restarts the agent.
func TestNoSignOfLifeWhileItHangs(t *testing.T) {
	manager := listenNotify(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	probed := make(chan struct{})
	watched := make(chan struct{})
	t.Cleanup(func() { <-watched }) // before the socket is closed
	go func() {
		defer close(watched)
		new(serviceManager).watch(t.Context(), func() {
			select {
			case probed <- struct{}{}:
			case <-t.Context().Done():
			}
		})
	}()
	for range 3 {
		<-probed
		manager.await("WATCHDOG=1")
	}
	if err := manager.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if size, err := manager.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes came while the probe hung", size)
	}
}

// TestReloadBeforeItServes: an agent that waits for its grid does not become ready by a
// reload.
func TestReloadBeforeItServes(t *testing.T) {
	socket := listenNotify(t)
	var manager serviceManager
	read := 0
	manager.reload(func() { read++ })
	manager.ready("serving")
	manager.stopping("leaving")
	manager.reload(func() { read++ })
	manager.status("end")
	var said []string
	for len(said) == 0 || said[len(said)-1] != "STATUS=end" {
		said = append(said, socket.next())
	}
	if want := []string{"READY=1\nSTATUS=serving", "STOPPING=1\nSTATUS=leaving", "STATUS=end"}; !slices.Equal(said,
		want) || read != 2 {
		t.Errorf("%d reloads, and it said %q, want %q", read, said, want)
	}
}

// TestAlive: the health check of a container tells a member from other servers and from
// nothing.
func TestAlive(t *testing.T) {
	t.Parallel()
	agent := startAgent(t, "127.0.0.1:0", "--expect", "1")
	if status, out, said := command(t, "alive", "--addr", agent.api); status != exitDone || out != "alive\n" {
		t.Errorf("a living member: exit status %d, %q, %q", status, out, said)
	}
	agent.signal(syscall.SIGTERM)
	agent.exit()
	if status, _, said := command(t, "alive", "--addr", agent.api); status != exitFailed ||
		!strings.Contains(said, "no member answers at "+agent.api) {
		t.Errorf("after its end: exit status %d, %q", status, said)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	addr := other.Listener.Addr().String()
	if status, _, said := command(t, "alive", "--addr", addr); status != exitFailed ||
		!strings.Contains(said, "check that it is a member's API address") {
		t.Errorf("another server: exit status %d, %q", status, said)
	}
}
