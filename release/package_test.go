package main

import (
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

// debian returns the root of a fresh Debian.
func debian(t *testing.T) string {
	t.Helper()
	if !*long {
		t.Skip("it builds releases for minutes; give -long, or run make release-check")
	}
	if os.Geteuid() != 0 {
		t.Skip("root is needed for a Debian in a directory of its own; run it with sudo")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("debootstrap is not installed: apt-get install debootstrap")
	}
	root, err := os.MkdirTemp("", "debian")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("debootstrap", "--variant=minbase", "--arch=amd64",
		"--include=systemd,procps", "bookworm", root).CombinedOutput()
	if err != nil {
		t.Skipf("debootstrap finds no packages: %v: %s", err, out[max(0, len(out)-300):])
	}
	return root
}

// TestDeb: in a fresh Debian the package installs, its unit is valid, and an agent starts by the unit's command
// as the package's user under a notify socket. An upgrade keeps an edited configuration and the data; removal
// keeps them, too; a purge removes them and the user.
func TestDeb(t *testing.T) {
	root := debian(t)
	repository, temp := tagged(t, firstVersion, nextVersion), t.TempDir()
	for _, version := range []string{firstVersion, nextVersion} {
		build(t, repository, version, filepath.Join(temp, version), "")
		name := "snowgrid_" + strings.TrimPrefix(version, "v") + "_amd64.deb"
		write(t, filepath.Join(root, "tmp"), version+".deb", read(t, filepath.Join(temp, version), name))
	}
	inRoot := func(command ...string) string {
		t.Helper()
		return run(t, "/", append([]string{"chroot", root}, command...)...)
	}
	inRoot("dpkg", "-i", "/tmp/"+firstVersion+".deb")
	if out := inRoot("snowgrid", "version"); !strings.Contains(out, firstVersion) {
		t.Errorf("snowgrid version: %s", out)
	}
	for _, file := range []string{"man/man1/snowgrid-next.1", "bash-completion/completions/snowgrid",
		"zsh/vendor-completions/_snowgrid", "fish/vendor_completions.d/snowgrid.fish"} {
		if len(read(t, root, "usr/share/"+file)) == 0 {
			t.Errorf("%s is empty", file)
		}
	}
	if out := inRoot("id", "snowgrid"); !strings.Contains(out, "gid=") {
		t.Errorf("the user: %s", out)
	}
	run(t, "/", "systemd-analyze", "--root="+root, "verify", "/usr/lib/systemd/system/snowgrid.service")

	config := loneConfig(t, root)
	inRoot("snowgrid", "secure", "init", "--out", "/root/authority")
	inRoot("snowgrid", "secure", "issue", "--dir", "/root/authority", "--role", "member", "--for", "m1", "--out",
		"/root/m1")
	inRoot("sh", "-c", "install -m 0600 -o snowgrid -g snowgrid /root/m1/* /etc/snowgrid/security/")
	startByUnit(t, root)

	inRoot("dpkg", "-i", "/tmp/"+nextVersion+".deb")
	if out := inRoot("snowgrid", "version"); !strings.Contains(out, nextVersion) {
		t.Errorf("snowgrid version after the upgrade: %s", out)
	}
	if got := read(t, root, "etc/snowgrid/snowgrid.yaml"); !bytes.Equal(got, config) {
		t.Errorf("the upgrade changed the configuration: %s", got)
	}
	startByUnit(t, root)
	inRoot("dpkg", "-r", "snowgrid")
	for _, kept := range []string{"etc/snowgrid/snowgrid.yaml", "var/lib/snowgrid/.member.meta"} {
		if _, err := os.Stat(filepath.Join(root, kept)); err != nil {
			t.Errorf("removal: %v", err)
		}
	}
	inRoot("dpkg", "-P", "snowgrid")
	for _, gone := range []string{"etc/snowgrid", "var/lib/snowgrid", "usr/bin/snowgrid"} {
		if _, err := os.Stat(filepath.Join(root, gone)); !os.IsNotExist(err) {
			t.Errorf("after a purge %s is there: %v", gone, err)
		}
	}
	if bytes.Contains(read(t, root, "etc/passwd"), []byte("snowgrid:")) {
		t.Error("after a purge the user is there")
	}
}

// loneConfig edits the package's configuration for a grid of one member, and returns it.
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
	const path = "etc/snowgrid/snowgrid.yaml"
	config := strings.NewReplacer("10.0.0.1:7946, 10.0.0.2:7946, 10.0.0.3:7946", "", "10.0.0.1:7946", ports[0],
		"10.0.0.1:7947", ports[1], "10.0.0.1:7948", ports[2], "expect: 3", "expect: 1").Replace(string(read(t, root, path)))
	if err := os.WriteFile(filepath.Join(root, path), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return []byte(config)
}

// startByUnit runs the unit's command in a root directory as the package's user until it has said that it is
// ready, and ends it in order.
func startByUnit(t *testing.T, root string) {
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
