package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// firstVersion and nextVersion are the tags that the tests make in a clone.
const firstVersion, nextVersion = "v0.1.0", "v0.1.1"

var long = flag.Bool("long", false, "build releases: minutes for each test")

// tagged returns a clone with the tags that .ci/release made.
func tagged(t *testing.T, versions ...string) string {
	t.Helper()
	if !*long {
		t.Skip("it builds releases for minutes; give -long, or run make release-check")
	}
	if err := exec.Command("git", "-C", "..", "rev-parse", "HEAD").Run(); err != nil {
		t.Skipf("this is not a checkout: %v", err)
	}
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "GONOSUMDB": "*", "GONOSUMCHECK": "1",
		"GOFLAGS": ""} {
		t.Setenv(key, value)
	}
	clone := filepath.Join(t.TempDir(), "repository")
	run(t, "..", "git", "clone", "-q", ".", clone)
	for _, version := range versions {
		run(t, clone, filepath.Join(clone, ".ci", "release"), version)
	}
	return clone
}

func run(t *testing.T, dir string, command ...string) string {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// build builds a release for this platform alone.
func build(t *testing.T, repository, version, out, key string) {
	t.Helper()
	c := buildCommand{Repository: repository, Version: version, Out: out, Key: key, Only: []string{"linux/amd64"}}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
}

// TestBuildAndVerify: two builds from one version are equal in every byte; what the tool verifies is right, and a
// changed byte, a missing file, an added file, another key and another program's bill are refused.
func TestBuildAndVerify(t *testing.T) {
	repository, temp := tagged(t, firstVersion), t.TempDir()
	key := filepath.Join(temp, "key")
	if err := (&keyCommand{Out: key}).Run(); err != nil {
		t.Fatal(err)
	}
	if err := (&keyCommand{Out: key}).Run(); err == nil {
		t.Error("a key was overwritten")
	}
	one, two := filepath.Join(temp, "one"), filepath.Join(temp, "two")
	build(t, repository, firstVersion, one, key+".key")
	build(t, repository, firstVersion, two, key+".key")
	again := buildCommand{Repository: repository, Version: firstVersion, Out: one, Only: []string{"linux/amd64"}}
	if err := again.Run(); err == nil || !strings.Contains(err.Error(), "remove it, or name another one by --out") {
		t.Errorf("a directory that exists: %v", err)
	}
	names, err := filesOf(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name == signatureName {
			continue
		}
		a, b := read(t, one, name), read(t, two, name)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two builds", name)
		}
	}
	verify := verifyCommand{Dir: one, Key: key + ".pub"}
	if err := verify.Run(); err != nil {
		t.Fatal(err)
	}
	if err := (&keyCommand{Out: key + "2"}).Run(); err != nil {
		t.Fatal(err)
	}
	refused(t, "another key", &verifyCommand{Dir: one, Key: key + "2.pub"}, "is not the signature")
	for _, name := range names {
		data := read(t, one, name)
		changed := bytes.Clone(data)
		changed[len(changed)/2] ^= 1
		write(t, one, name, changed)
		refused(t, "a changed byte in "+name, &verify, "")
		write(t, one, name, data)
		if name == signatureName || name == sumsName {
			continue
		}
		if err := os.Remove(filepath.Join(one, name)); err != nil {
			t.Fatal(err)
		}
		refused(t, "no "+name, &verify, "no such file")
		write(t, one, name, data)
	}
	write(t, one, "added", nil)
	refused(t, "an added file", &verify, "has no checksum of added")
	if err := os.Remove(filepath.Join(one, "added")); err != nil {
		t.Fatal(err)
	}
	bill := "snowgrid_0.1.0_linux_amd64" + billSuffix
	for old, why := range map[string]string{"memberlist@": "its components", "snowgrid@": "its main module",
		`"value": "h1:`: "differ"} {
		text := read(t, one, bill)
		write(t, one, bill, bytes.Replace(text, []byte(old), []byte(old+"x"), 2))
		if _, err := verifyMaterials(one); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a bill with x after %s: %v", old, err)
		}
		write(t, one, bill, text)
	}
	dir, archive := t.TempDir(), filepath.Join(one, "snowgrid_0.1.0_linux_amd64.tar.gz")
	run(t, dir, "tar", "-xzf", archive, "--strip-components=1")
	if out := run(t, dir, filepath.Join(dir, "snowgrid"), "version"); !strings.Contains(out, firstVersion) {
		t.Errorf("snowgrid version: %s", out)
	}
	if !bytes.Contains(read(t, dir, "THIRD-PARTY-LICENSES.txt"), []byte("github.com/hashicorp/raft ")) {
		t.Error("the licences lack that of raft")
	}
}

func refused(t *testing.T, what string, c *verifyCommand, why string) {
	t.Helper()
	if err := c.Run(); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v; want %q", what, err, why)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBuildRefuses: a version that is none, one without a tag, and an unknown platform are refused before
// anything is built.
func TestBuildRefuses(t *testing.T) {
	temp := t.TempDir()
	for what, c := range map[string]struct {
		build buildCommand
		why   string
	}{
		"no version":  {buildCommand{Version: "1.2.3"}, "give one such as v1.2.3"},
		"no tag":      {buildCommand{Version: "v99.0.0", Repository: "..", Out: filepath.Join(temp, "a")}, "has no tag"},
		"platform":    {buildCommand{Version: "v99.0.0", Only: []string{"plan9/mips"}}, "give one of"},
		"two numbers": {buildCommand{Version: "v1.2"}, "give one such as v1.2.3"},
	} {
		if err := c.build.Run(); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v; want %q", what, err, c.why)
		}
	}
}
