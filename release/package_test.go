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

// debian returns the root of a fresh Debian with these packages.
func debian(t *testing.T, packages string) string {
	t.Helper()
	root, err := os.MkdirTemp("", "debian")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("debootstrap", "--variant=minbase", "--arch=amd64",
		"--include="+packages, "bookworm", root).CombinedOutput()
	if err != nil {
		t.Skipf("debootstrap finds no packages: %v: %s", err, out[max(0, len(out)-300):])
	}
	return root
}

// TestPackages: in a fresh Debian the deb and the rpm install.
func TestPackages(t *testing.T) {
	if !*long {
		t.Skip("it builds releases for minutes; give -long, or run make release-check")
	}
	if os.Geteuid() != 0 {
		t.Skip("root is needed for a Debian in a directory of its own; run it with sudo")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("debootstrap is not installed: apt-get install debootstrap")
	}
	repository, built := tagged(t, firstVersion, nextVersion), t.TempDir()
	for _, version := range []string{firstVersion, nextVersion} {
		build(t, repository, version, filepath.Join(built, version), "")
	}
	t.Run("deb", func(t *testing.T) { testDeb(t, installation{t, debian(t, "systemd,procps"), built}) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, installation{t, debian(t, "systemd,procps,rpm"), built}) })
}

// installation is a root directory in which packages are installed.
type installation struct {
	t     *testing.T
	root  string
	built string // a directory of files for each version
}

// run runs a command in the root and returns its output.
func (in installation) run(command ...string) string {
	in.t.Helper()
	return run(in.t, "/", append([]string{"chroot", in.root}, command...)...)
}

// brings copies a version's file into the root, and returns its path there.
func (in installation) brings(version, file string) string {
	in.t.Helper()
	file = strings.ReplaceAll(file, "{version}", strings.TrimPrefix(version, "v"))
	write(in.t, filepath.Join(in.root, "tmp"), file, read(in.t, filepath.Join(in.built, version), file))
	return "/tmp/" + file
}

// has checks the version of the program, and the files and the user of a package of this format.
func (in installation) has(version, format string) {
	in.t.Helper()
	if out := in.run("snowgrid", "version"); !strings.Contains(out, version) {
		in.t.Errorf("snowgrid version: %s", out)
	}
	pages := []string{"man/snowgrid-next.1", "man/snowgrid-serve-repair.1"}
	for _, p := range programs {
		for _, shell := range shells {
			pages = append(pages, completion(p.name, shell))
		}
	}
	for _, page := range pages {
		if file := installed(page, format); len(read(in.t, in.root, file)) == 0 {
			in.t.Errorf("%s is empty", file)
		}
	}
	if out := in.run("id", "snowgrid"); !strings.Contains(out, "gid=") {
		in.t.Errorf("the user: %s", out)
	}
	run(in.t, "/", "systemd-analyze", "--root="+in.root, "verify", "/usr/lib/systemd/system/snowgrid.service")
}

// configure edits the configuration for a grid of one member with certificates, and returns it.
func (in installation) configure() []byte {
	in.t.Helper()
	config := loneConfig(in.t, in.root)
	in.run("snowgrid", "secure", "init", "--out", "/root/authority")
	in.run("snowgrid", "secure", "issue", "--dir", "/root/authority", "--role", "member", "--for", "m1", "--out",
		"/root/m1")
	in.run("sh", "-c", "install -m 0600 -o snowgrid -g snowgrid /root/m1/* /etc/snowgrid/security/")
	return config
}

// gone checks that nothing has these paths.
func (in installation) gone(paths ...string) {
	in.t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(in.root, path)); !os.IsNotExist(err) {
			in.t.Errorf("%s is there: %v", path, err)
		}
	}
}

// keeps checks that a file of the root has this text, or any if it is nil.
func (in installation) keeps(path string, text []byte) {
	in.t.Helper()
	if got := read(in.t, in.root, path); text != nil && !bytes.Equal(got, text) {
		in.t.Errorf("%s was changed: %s", path, got)
	}
}

const (
	packagedConfig = "etc/snowgrid/snowgrid.yaml"
	packagedData   = "var/lib/snowgrid/.member.meta"
)

// testDeb: the package installs, its unit is valid, and an agent starts by the unit's command as the package's
// user under a notify socket. An upgrade keeps an edited configuration and the data; removal keeps them, too; a
// purge removes them and the user.
func testDeb(t *testing.T, in installation) {
	const file = "snowgrid_{version}_amd64.deb"
	in.run("dpkg", "-i", in.brings(firstVersion, file))
	in.has(firstVersion, "deb")
	config := in.configure()
	startByUnit(t, in.root)
	in.run("dpkg", "-i", in.brings(nextVersion, file))
	in.has(nextVersion, "deb")
	in.keeps(packagedConfig, config)
	startByUnit(t, in.root)
	in.run("dpkg", "-r", "snowgrid")
	in.keeps(packagedConfig, config)
	in.keeps(packagedData, nil)
	in.run("dpkg", "-P", "snowgrid")
	in.gone("etc/snowgrid", "var/lib/snowgrid", "usr/bin/snowgrid")
	if bytes.Contains(read(t, in.root, "etc/passwd"), []byte("snowgrid:")) {
		t.Error("after a purge the user is there")
	}
}

// testRPM: the same for the rpm, which has no purge: the data, and an edited configuration under another name,
// stay. The database of rpm on a Debian lacks the packages that the rpm requires, so --nodeps is given.
func testRPM(t *testing.T, in installation) {
	const file = "snowgrid-{version}-1.x86_64.rpm"
	in.run("rpm", "-i", "--nodeps", in.brings(firstVersion, file))
	in.has(firstVersion, "rpm")
	config := in.configure()
	startByUnit(t, in.root)
	in.run("rpm", "-U", "--nodeps", in.brings(nextVersion, file))
	in.has(nextVersion, "rpm")
	in.keeps(packagedConfig, config)
	startByUnit(t, in.root)
	if out := in.run("rpm", "-q", "--requires", "snowgrid"); !strings.Contains(out, "shadow-utils") {
		t.Errorf("the rpm requires\n%s", out)
	}
	in.run("rpm", "-e", "snowgrid")
	in.gone("usr/bin/snowgrid", packagedConfig)
	in.keeps(packagedConfig+".rpmsave", config)
	in.keeps(packagedData, nil)
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
