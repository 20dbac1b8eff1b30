//go:build unix

package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// unpack returns the files of a bundle by their names without the first directory.
func unpack(t *testing.T, name string) map[string][]byte {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		dir, rest, _ := strings.Cut(header.Name, "/")
		data, err := io.ReadAll(archive)
		if err != nil || !strings.HasPrefix(dir, "snowgrid-bundle-") || strings.Contains(rest, "..") {
			t.Fatalf("%s: %v", header.Name, err)
		}
		files[rest] = data
	}
}

// TestDebugBundle: a bundle of a member that runs and one that does not has the status, the
// log, the configuration without its secret and the profiles; the manifest has the digests
// and the problems.
func TestDebugBundle(t *testing.T) {
	t.Parallel()
	ops, err := loopback.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	const key = "MDEyMzQ1Njc4OWFiY2RlZg=="
	agent := startAgent(t, "127.0.0.1:0", "--expect", "1", "--member-name", "web-1", "--ops-addr", ops[0], "--pprof",
		"--gossip-key", key)
	name := filepath.Join(t.TempDir(), "bundle.tar.gz")
	status, stdout, progress := command(t, "debug", "bundle", "--addr", agent.api+",127.0.0.1:1", "--ops-addr",
		ops[0]+",127.0.0.1:2", "--profile", "1s", "-f", name, "-o", "json")
	var result bundleResult
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || status != exitDegraded || result.File != name ||
		!strings.Contains(progress, " lacks 8 items, ") {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, progress)
	}
	for _, line := range []string{"status of " + agent.api + ": ", "log of " + ops[0] + ": ",
		"status of 127.0.0.1:1: no member answers", "log of 127.0.0.1:2: no ops listener answers"} {
		if !strings.Contains(progress, line) {
			t.Errorf("the progress lacks %q:\n%s", line, progress)
		}
	}
	files := unpack(t, name)
	var manifest bundleManifest
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest.Files) != len(files)-1 ||
		len(manifest.Files) != result.Files {
		t.Fatalf("%v: %d files in the manifest, %d in the bundle, %d in the result", err, len(manifest.Files), len(files),
			result.Files)
	}
	for _, f := range manifest.Files {
		if sum := sha256.Sum256(files[f.Name]); hex.EncodeToString(sum[:]) != f.SHA256 || len(files[f.Name]) != f.Bytes {
			t.Errorf("%s has another digest or size than the manifest says", f.Name)
		}
	}
	if len(manifest.Problems) != 8 { // of the two that do not run
		t.Errorf("%d problems: %+v", len(manifest.Problems), manifest.Problems)
	}
	dir := "agents/" + fileName(ops[0]) + "/"
	for file, part := range map[string]string{
		dir + "log.txt": "msg=audit", dir + "config.json": `"gossip-key"`,
		dir + "build.txt":   "path\tgithub.com/snowgrid/snowgrid/cmd/snowgrid",
		dir + "metrics.txt": "snowgrid_ready 1", dir + "goroutines.txt": "goroutine 1 [", "alerts.json": agent.api,
		dir + "heap.pprof": "\x1f\x8b", dir + "cpu.pprof": "\x1f\x8b",
		"members/" + fileName("_"+agent.api) + "/readyz.txt": "readyz check passed",
	} {
		if !strings.Contains(string(files[file]), part) {
			t.Errorf("%s has %d bytes and no %q", file, len(files[file]), part)
		}
	}
	var seen grid.Status
	if err := json.Unmarshal(files["members/"+fileName("_"+agent.api)+"/status.json"], &seen); err != nil ||
		seen.AnsweringName != "web-1" {
		t.Errorf("%v: the status is of %q", err, seen.AnsweringName)
	}
	for file, data := range files {
		if strings.HasSuffix(file, ".json") && strings.Contains(string(data), key) {
			t.Errorf("%s has the secret", file)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if status, _, said := command(t, "debug", "bundle", "--addr", agent.api, "-f", name); status != exitFailed ||
		!strings.Contains(said, "the file exists; give another name") {
		t.Errorf("over a file that exists: status %d, %s", status, said)
	}
}

// TestDebugBundleOfNothing: where nothing answers the bundle says so, and so does the exit
// status.
func TestDebugBundleOfNothing(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "bundle.tar.gz")
	status, stdout, said := runCommand(t, "debug", "bundle", "--addr", "127.0.0.1:1", "--ops-addr", "127.0.0.1:2",
		"-f", name)
	if status != exitUnreachable || !strings.Contains(stdout, "0 files, 8 problems, see its manifest.json") ||
		!strings.Contains(said, "nothing was collected") {
		t.Errorf("status %d, %s%s", status, stdout, said)
	}
	if files := unpack(t, name); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}
