package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestRootfsEnds: the image's layer has the two blocks of zeros that end a tar. Some programs refuse one without them.
func TestRootfsEnds(t *testing.T) {
	r := &release{temp: t.TempDir(), source: t.TempDir(), targets: []target{{runtime.GOOS, runtime.GOARCH, ""}}}
	for name, text := range map[string]string{"LICENSE": "", "README.md": "", "CHANGELOG.md": "",
		"go.mod": "module example\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(r.source, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range programs {
		run(t, r.source, "go", "build", "-o", r.built(p, r.targets[0]), ".")
	}
	content, err := r.rootfs(r.targets[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(content, make([]byte, 1024)) {
		t.Errorf("a layer of %d bytes has no end", len(content))
	}
}
