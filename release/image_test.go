package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// readOnly runs a command in a root directory that is read-only, as the image's user.
const readOnly = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" &&
  exec chroot --userspec="$1" "$0" "$2" version`

// TestImage: the archive is a valid image layout with the platform's image. Its content, unpacked, runs as the
// image's user, who is not root, in a read-only root directory: an agent forms a grid and issues IDs.
func TestImage(t *testing.T) {
	repository, out := tagged(t, firstVersion), filepath.Join(t.TempDir(), "out")
	build(t, repository, firstVersion, out, "")
	dir := t.TempDir()
	run(t, dir, "tar", "-xf", filepath.Join(out, "snowgrid_0.1.0_oci.tar"))
	archive, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := archive.IndexManifest()
	if err != nil || len(entries.Manifests) != 1 {
		t.Fatalf("the archive: %+v, %v", entries, err)
	}
	chart := run(t, dir, "tar", "-xOf", filepath.Join(out, "snowgrid-chart-0.1.0.tgz"), "snowgrid/values.yaml")
	if digest := entries.Manifests[0].Digest.String(); !strings.Contains(chart, `digest: "`+digest+`"`) {
		t.Errorf("the chart has another image than %s: %s", digest, chart)
	}
	index, err := archive.ImageIndex(entries.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.String() != "linux/amd64" {
		t.Fatalf("the index: %+v, %v", manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/snowgrid" {
		t.Errorf("the image runs %v as %q", config.Config.Entrypoint, config.Config.User)
	}
	root := unpacked(t, image)
	if _, err := os.Stat(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); err != nil {
		t.Error(err)
	}
	t.Run("as its user", func(t *testing.T) {
		if os.Geteuid() != 0 || exec.Command("unshare", "--mount", "true").Run() != nil {
			t.Skip("mounts cannot be made here; run it with sudo")
		}
		for _, program := range []string{"/snowgrid", "/snowgrid-serve"} {
			text := run(t, "/", "unshare", "--mount", "sh", "-c", readOnly, root, config.Config.User, program)
			if !strings.Contains(text, firstVersion) {
				t.Errorf("%s version: %s", program, text)
			}
		}
		// The test of the Dockerfile's tree runs this one.
		text := run(t, "../deploy/check", "go", "test", "-count=1", "-v", "-run", "^TestImage$", ".", "-image", root)
		if !strings.Contains(text, "--- PASS: TestImage") {
			t.Errorf("an agent in the image: %s", text)
		}
	})
}

// unpacked returns a directory with the image's layers.
func unpacked(t *testing.T, image v1.Image) string {
	t.Helper()
	root, err := os.MkdirTemp("", "image")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	for in := tar.NewReader(content); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, data, header.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}
