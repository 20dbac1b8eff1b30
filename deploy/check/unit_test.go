package check

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds each wait for something that should happen soon.
const patience = 60 * time.Second

// unit returns the values of a key of the unit, in the order of the file.
func unit(t *testing.T, key string) (values []string) {
	t.Helper()
	text, err := os.ReadFile("../systemd/snowgrid.service")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), key+"="); found {
			values = append(values, value)
		}
	}
	return values
}

// freePort returns a port of loopback that was free a moment ago. It is below the ports of listeners
// without one, so that no other test gets it before its user listens.
func freePort(t *testing.T) int {
	t.Helper()
	var err error
	for range 100 {
		port := 20_000 + rand.IntN(10_000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal(err)
	return 0
}

// loneConfig writes the configuration beside the unit, with other addresses and
// directories of the test, for a grid of one member.
func loneConfig(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile("../systemd/snowgrid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, member := credentials(t)
	config := strings.NewReplacer(
		securityDir, member,
		"10.0.0.1:7946, 10.0.0.2:7946, 10.0.0.3:7946", "",
		"10.0.0.1:7946", fmt.Sprintf("127.0.0.1:%d", freePort(t)),
		"10.0.0.1:7947", fmt.Sprintf("127.0.0.1:%d", freePort(t)),
		"10.0.0.1:7948", fmt.Sprintf("127.0.0.1:%d", freePort(t)),
		"expect: 3", "expect: 1",
		"/var/lib/snowgrid", filepath.Join(dir, "data"),
	).Replace(string(text))
	if !strings.Contains(config, "security-dir: "+member+"\n") {
		t.Errorf("the configuration beside the unit names no credentials in %s", securityDir)
	}
	file = filepath.Join(dir, "snowgrid.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestUnit starts the agent by the unit's own command line, under a notify socket, has it
// reload, and ends it as systemd does.
func TestUnit(t *testing.T) {
	command := strings.Fields(unit(t, "ExecStart")[0])
	if command[0] != "/usr/local/bin/snowgrid" || unit(t, "Type")[0] != "notify" {
		t.Fatalf("the unit starts %v with type %v", command, unit(t, "Type"))
	}
	for i, word := range command {
		if word == "/etc/snowgrid/snowgrid.yaml" {
			command[i] = loneConfig(t)
		}
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"),
		Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()

	var said bytes.Buffer
	agent := exec.Command(snowgrid(t), command[1:]...)
	agent.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket.LocalAddr().String(), "WATCHDOG_USEC=500000")
	agent.Stderr = &said
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	defer func() { _ = agent.Process.Kill() }()

	await := func(line string) {
		t.Helper()
		if err := awaitLine(socket, line); err != nil {
			_ = agent.Process.Kill()
			<-ended
			t.Fatalf("waiting for %s: %v; the agent's log:\n%s", line, err, said.String())
		}
	}
	await("READY=1")
	await("WATCHDOG=1")
	if reload := unit(t, "ExecReload"); len(reload) != 1 || reload[0] != "/bin/kill -HUP $MAINPID" {
		t.Fatalf("the unit reloads by %v", reload)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := agent.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGHUP)
	await("RELOADING=1")
	await("READY=1")
	signal(syscall.SIGTERM)
	await("STOPPING=1")
	if err := <-ended; err != nil {
		t.Errorf("the agent ended with %v; its log:\n%s", err, said.String())
	}
}

// awaitLine reads messages up to the one with a line.
func awaitLine(socket *net.UnixConn, line string) error {
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	for {
		size, err := socket.Read(buf)
		if err != nil {
			return err
		}
		for said := range strings.Lines(string(buf[:size])) {
			if strings.TrimSpace(said) == line {
				return nil
			}
		}
	}
}

// TestUnitIsValid has systemd read the unit.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
	}
	text, err := os.ReadFile("../systemd/snowgrid.service")
	if err != nil {
		t.Fatal(err)
	}
	// It looks for the programs that the unit names.
	file := filepath.Join(t.TempDir(), "snowgrid.service")
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("/usr/local/bin/snowgrid"), []byte(snowgrid(t))),
		0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if strings.Contains(lines.Text(), "snowgrid.service") {
			t.Errorf("systemd-analyze verify: %s", lines.Text())
		}
	}
}

// TestUnitTimes: the agent has left before systemd kills it.
func TestUnitTimes(t *testing.T) {
	config, err := os.ReadFile("../systemd/snowgrid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(config), "leave-timeout: ")
	leave, _, _ := strings.Cut(rest, "\n")
	if stop := unit(t, "TimeoutStopSec"); !found || len(stop) != 1 || seconds(t, stop[0]+"s") < seconds(t, leave)+5 {
		t.Errorf("TimeoutStopSec is %v, want 5 s above leave-timeout, %q", stop, leave)
	}
}
