package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// debian returns a root directory with a fresh Debian and these packages.
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

// TestPackages: in a fresh Debian the deb and the rpm install, and upgrade the previous commit's.
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
	built := t.TempDir()
	build(t, taggedTwice(t, built), nextVersion, filepath.Join(built, nextVersion), "")
	t.Run("deb", func(t *testing.T) { testDeb(t, installation{t, debian(t, "systemd,procps"), built}) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, installation{t, debian(t, "systemd,procps,rpm"), built}) })
}

// taggedTwice returns a clone whose previous commit has the tags for firstVersion, and whose last one has those for
// nextVersion. The previous commit's tool has built its files into a directory below built.
func taggedTwice(t *testing.T, built string) string {
	t.Helper()
	clone := tagged(t)
	if err := exec.Command("git", "-C", clone, "rev-parse", "-q", "--verify", "HEAD^").Run(); err != nil {
		t.Skip("the previous commit is not here, so there is no upgrade from it; run: git fetch --deepen 1")
	}
	last := strings.TrimSpace(run(t, clone, "git", "rev-parse", "HEAD"))
	run(t, clone, "git", "checkout", "-q", "--detach", "HEAD^")
	run(t, clone, filepath.Join(clone, ".ci", "release"), firstVersion)
	run(t, filepath.Join(clone, "release"), "go", "run", ".", "build", "--version", firstVersion, "--out",
		filepath.Join(built, firstVersion), "--only", "linux/amd64")
	run(t, clone, "git", "checkout", "-q", "--detach", last)
	run(t, clone, filepath.Join(clone, ".ci", "release"), nextVersion)
	return clone
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

// has checks the program's version, the user, and the files that a package in this format adds at this commit.
func (in installation) has(version, format string) {
	in.t.Helper()
	if out := in.run("snowgrid", "version"); !strings.Contains(out, version) {
		in.t.Errorf("snowgrid version: %s", out)
	}
	if version == nextVersion { // a package of the previous commit may lack what this one adds
		in.hasManual(format)
	}
	if out := in.run("id", "snowgrid"); !strings.Contains(out, "gid=") {
		in.t.Errorf("the user: %s", out)
	}
	run(in.t, "/", "systemd-analyze", "--root="+in.root, "verify", "/usr/lib/systemd/system/snowgrid.service")
}

// hasManual checks both programs' pages and scripts.
func (in installation) hasManual(format string) {
	in.t.Helper()
	pages := []string{"man/snowgrid-next.1", "man/snowgrid-serve-repair.1"}
	for _, p := range programs {
		for _, shell := range shells {
			pages = append(pages, completion(p, shell))
		}
	}
	if format == "deb" {
		pages = append(pages, "changelog.Debian")
	}
	for _, page := range pages {
		file := installed(page, format)
		if len(read(in.t, in.root, file)) == 0 {
			in.t.Errorf("%s is empty", file)
		}
		if path.Ext(file) == ".gz" {
			in.run("gzip", "--test", file)
		}
	}
}

// configure edits the configuration for a lone member with certificates, and returns it.
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

// keeps checks that a file in the root has this text, or any if it is nil.
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
// user under a notify socket. An upgrade keeps an edited configuration and the data: the grid's next ID is above the
// last one, and its sequencer has its epoch. Removal keeps both, too; a purge removes them and the user.
func testDeb(t *testing.T, in installation) {
	const file = "snowgrid_{version}_amd64.deb"
	in.run("dpkg", "-i", in.brings(firstVersion, file))
	in.has(firstVersion, "deb")
	config := in.configure()
	before := in.issues()
	in.run("dpkg", "-i", in.brings(nextVersion, file))
	in.has(nextVersion, "deb")
	in.keeps(packagedConfig, config)
	if after := in.issues(); after <= before {
		t.Errorf("ID %d before the upgrade, %d after it", before, after)
	}
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
// stay. rpm's database on a Debian lacks the packages that the rpm requires, so --nodeps is given.
func testRPM(t *testing.T, in installation) {
	const file = "snowgrid-{version}-1.x86_64.rpm"
	in.run("rpm", "-i", "--nodeps", in.brings(firstVersion, file))
	in.has(firstVersion, "rpm")
	config := in.configure()
	before := in.issues()
	in.run("rpm", "-U", "--nodeps", in.brings(nextVersion, file))
	in.has(nextVersion, "rpm")
	in.keeps(packagedConfig, config)
	if after := in.issues(); after <= before {
		t.Errorf("ID %d before the upgrade, %d after it", before, after)
	}
	if out := in.run("rpm", "-q", "--requires", "snowgrid"); !strings.Contains(out, "shadow-utils") {
		t.Errorf("the rpm requires\n%s", out)
	}
	in.run("rpm", "-e", "snowgrid")
	in.gone("usr/bin/snowgrid", packagedConfig)
	in.keeps(packagedConfig+".rpmsave", config)
	in.keeps(packagedData, nil)
}
