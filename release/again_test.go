package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildAfterInterruption: a build removes what an interrupted one left, and its own files if it fails; the
// directory with a complete release is refused.
func TestBuildAfterInterruption(t *testing.T) {
	repository, out := t.TempDir(), filepath.Join(t.TempDir(), "dist")
	for _, command := range []string{"init -q", "commit -q --allow-empty -m release", "tag " + firstVersion} {
		run(t, repository, append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@example.org"},
			strings.Fields(command)...)...)
	}
	if err := os.Mkdir(out+partial, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, out+partial, "left", nil)
	c := buildCommand{Repository: repository, Version: firstVersion, Out: out, Only: []string{"linux/amd64"}}
	r, end, err := c.begin()
	if err != nil {
		t.Fatal(err)
	}
	if names, err := filesOf(r.out); err != nil || len(names) > 0 {
		t.Errorf("the build begins with %q, %v", names, err)
	}
	write(t, r.out, "made", nil)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if names, err := filesOf(filepath.Dir(out)); err != nil || len(names) > 0 {
		t.Errorf("a failed build leaves %q, %v", names, err)
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.begin(); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a directory of a release: %v", err)
	}
}

// TestTagsAgain: a second run of .ci/release on the commit prints the tags again, one after an interruption makes them
// anew, and one on another commit says how to remove them.
func TestTagsAgain(t *testing.T) {
	clone := tagged(t)
	script := filepath.Join(clone, ".ci", "release")
	first := run(t, clone, script, firstVersion)
	made := run(t, clone, "git", "rev-parse", firstVersion, "otel/"+firstVersion)
	if again := run(t, clone, script, firstVersion); !strings.Contains(first, again) || again == "" {
		t.Errorf("again: %s; the first time: %s", again, first)
	}
	if got := run(t, clone, "git", "rev-parse", firstVersion, "otel/"+firstVersion); got != made {
		t.Errorf("the tags are of %s, were of %s", got, made)
	}
	// As a run that was killed while it moved the tags leaves them.
	run(t, clone, "git", "checkout", "-q", "--detach")
	run(t, clone, "git", "commit", "-q", "--allow-empty", "-m", "release: "+firstVersion+" (incomplete)")
	run(t, clone, "git", "tag", "-f", "otel/"+firstVersion)
	if out, err := exec.Command(script, firstVersion).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "git checkout -f -") {
		t.Errorf("on the commit of the run: %v: %s", err, out)
	}
	run(t, clone, "git", "checkout", "-q", "-f", "-")
	out := run(t, clone, script, firstVersion)
	if !strings.Contains(out, "interrupted") || !strings.Contains(out, "push") {
		t.Errorf("after an interruption: %s", out)
	}
	for _, tag := range []string{firstVersion, "otel/" + firstVersion} {
		if got := run(t, clone, "git", "show", "-s", "--format=%s", tag); got != "release: "+firstVersion+"\n" {
			t.Errorf("%s is of the commit %s", tag, got)
		}
	}
	run(t, clone, "git", "commit", "-q", "--allow-empty", "-m", "more")
	if out, err := exec.Command(script, firstVersion).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "git tag -d "+firstVersion+" client/etcd/"+firstVersion) {
		t.Errorf("on another commit: %v: %s", err, out)
	}
}
