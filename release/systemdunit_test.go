package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loneConfig edits the package's configuration for a lone member, and returns it.
func loneConfig(t *testing.T, root string) []byte {
	t.Helper()
	var ports []string
	for range 3 {
		// Below the ports of listeners without one, so that no other program gets it before the agent listens.
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().String())
	}
	config := strings.NewReplacer("10.0.0.1:7946, 10.0.0.2:7946, 10.0.0.3:7946", "", "10.0.0.1:7946", ports[0],
		"10.0.0.1:7947", ports[1], "10.0.0.1:7948", ports[2], "expect: 3", "expect: 1").
		Replace(string(read(t, root, packagedConfig)))
	if err := os.WriteFile(filepath.Join(root, packagedConfig), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return []byte(config)
}

// issues starts an agent by the unit's command, takes an ID of its grid, and ends it in order. The sequencer is made
// with an epoch at the first time; another epoch conflicts with it at each.
func (in installation) issues() (id int64) {
	in.t.Helper()
	_, addr, _ := strings.Cut(string(read(in.t, in.root, packagedConfig)), "\napi-addr: ")
	addr, _, _ = strings.Cut(addr, "\n")
	next := func(epoch string) (out, said string, err error) {
		var errs bytes.Buffer
		c := exec.Command("chroot", in.root, "env", "SNOWGRID_SECURITY_DIR=/etc/snowgrid/security", "snowgrid", "next",
			"orders", "--addr", addr, "--epoch", epoch)
		c.Stderr = &errs
		text, err := c.Output()
		return strings.TrimSpace(string(text)), errs.String(), err
	}
	startByUnit(in.t, in.root, func() {
		out, said, err := next("2025-01-01")
		if err == nil {
			id, err = strconv.ParseInt(out, 10, 64)
		}
		if err != nil {
			in.t.Errorf("an ID: %v: %s", err, said)
		}
		if out, said, err := next("2024-01-01"); err == nil || !strings.Contains(said, "conflicting definition") {
			in.t.Errorf("another epoch: %v: %s%s", err, out, said)
		}
	})
	return id
}

// startByUnit runs the unit's command in a root directory as the package's user until it has said that it is
// ready, calls do, and ends it in order.
func startByUnit(t *testing.T, root string, do func()) {
	t.Helper()
	unit := string(read(t, root, "usr/lib/systemd/system/snowgrid.service"))
	_, command, found := strings.Cut(unit, "\nExecStart=")
	command, _, _ = strings.Cut(command, "\n")
	if !found || !strings.Contains(unit, "\nUser=snowgrid\n") {
		t.Fatalf("the unit has no command or user: %s", unit)
	}
	const path = "run/notify"
	_ = os.Remove(filepath.Join(root, path))
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(root, path), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	if err := os.Chmod(filepath.Join(root, path), 0o666); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	agent := exec.Command("chroot", append([]string{"--userspec=snowgrid:snowgrid", root}, strings.Fields(command)...)...)
	agent.Env, agent.Stderr = []string{"NOTIFY_SOCKET=/" + path, "PATH=/usr/bin"}, &said
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	ready := awaitReady(socket)
	if ready == nil {
		do()
	}
	_ = agent.Process.Signal(syscall.SIGTERM)
	err = agent.Wait()
	if ready != nil || err != nil {
		t.Fatalf("%s: ready: %v; end: %v; its log:\n%s", command, ready, err, said.String())
	}
}

// awaitReady reads messages up to READY=1.
func awaitReady(socket *net.UnixConn) error {
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	for {
		n, err := socket.Read(buf)
		if err != nil {
			return fmt.Errorf("no READY=1: %w", err)
		}
		if bytes.Contains(buf[:n], []byte("READY=1")) {
			return nil
		}
	}
}
