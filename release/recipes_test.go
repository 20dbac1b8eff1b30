package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
)

// TestRecipes: the formula for Homebrew installs from its archive and passes its own test, and the manifest for
// Scoop names a release file with its checksum, directory and programs.
func TestRecipes(t *testing.T) {
	repository, out := tagged(t, firstVersion), filepath.Join(t.TempDir(), "out")
	c := buildCommand{Repository: repository, Version: firstVersion, Out: out,
		Only: []string{"linux/amd64", "windows/amd64"}}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	t.Run("Homebrew", func(t *testing.T) {
		if _, err := exec.LookPath("ruby"); err != nil {
			t.Skip("ruby is not installed: apt-get install ruby")
		}
		source, prefix := t.TempDir(), t.TempDir()
		archive := filepath.Join(out, "snowgrid_0.1.0_linux_amd64.tar.gz")
		run(t, source, "tar", "-xzf", archive, "--strip-components=1")
		run(t, ".", "ruby", filepath.Join("testdata", "homebrew.rb"), filepath.Join(out, "snowgrid.rb"), archive, source,
			prefix)
		for _, file := range []string{"bin/snowgrid-serve", "share/man/man1/snowgrid-next.1",
			"etc/bash_completion.d/snowgrid", "share/zsh/site-functions/_snowgrid",
			"share/fish/vendor_completions.d/snowgrid.fish", "share/man/man1/snowgrid-serve-repair.1",
			"etc/bash_completion.d/snowgrid-serve", "share/zsh/site-functions/_snowgrid-serve",
			"share/fish/vendor_completions.d/snowgrid-serve.fish"} {
			if info, err := os.Stat(filepath.Join(prefix, file)); err != nil || info.Size() == 0 {
				t.Errorf("%s was not installed: %v", file, err)
			}
		}
	})
	t.Run("Scoop", func(t *testing.T) { checkManifest(t, out) })
}

func checkManifest(t *testing.T, out string) {
	var manifest struct {
		Version      string
		Architecture map[string]struct {
			URL, Hash  string
			ExtractDir string `json:"extract_dir"`
		}
		Bin []string
	}
	if err := json.Unmarshal(read(t, out, "snowgrid.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	from := manifest.Architecture["64bit"]
	sum := sha256.Sum256(read(t, out, path.Base(from.URL)))
	if from.Hash != hex.EncodeToString(sum[:]) || "v"+manifest.Version != firstVersion ||
		len(manifest.Bin) != len(programs) {
		t.Errorf("the manifest has %+v; the file's checksum is %x", manifest, sum)
	}
	files, err := zip.OpenReader(filepath.Join(out, path.Base(from.URL)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	for _, program := range manifest.Bin {
		if f, err := files.Open(path.Join(from.ExtractDir, program)); err != nil {
			t.Errorf("the archive: %v", err)
		} else {
			_ = f.Close()
		}
	}
}
