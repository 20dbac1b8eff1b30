package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities returns the public certificates that Mozilla trusts, from the module's version.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
	}
	return out.Bytes()
}

// rootfs returns the image's content for a platform as a tar: the programs, a user, an empty directory for
// data that the user owns, and one where credentials are mounted.
func (r *release) rootfs(t target) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	add := func(name string, kind byte, mode int64, owner int, data []byte) error {
		header := &tar.Header{Name: name, Typeflag: kind, Mode: mode, Size: int64(len(data)), ModTime: r.time, Uid: owner,
			Gid: owner, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	for _, dir := range []struct {
		name  string
		mode  int64
		owner int
	}{
		{"data/", 0o700, imageUser}, {"etc/", 0o755, 0}, {"etc/snowgrid/", 0o755, 0}, {"etc/snowgrid/security/", 0o755, 0},
		{"etc/ssl/", 0o755, 0}, {"etc/ssl/certs/", 0o755, 0}, {"tmp/", 0o1777, 0}, {"licenses/", 0o755, 0},
	} {
		if err := add(dir.name, tar.TypeDir, dir.mode, dir.owner, nil); err != nil {
			return nil, err
		}
	}
	files := []member{
		{"etc/passwd", 0o644, fmt.Appendf(nil, "snowgrid:x:%d:%d:snowgrid:/data:/sbin/nologin\n", imageUser, imageUser)},
		{"etc/group", 0o644, fmt.Appendf(nil, "snowgrid:x:%d:\n", imageUser)},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
	}
	texts, err := r.texts()
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		files = append(files, member{"licenses/" + text.name, text.mode, text.data})
	}
	for _, p := range programs {
		data, err := os.ReadFile(r.built(p, t))
		if err != nil {
			return nil, err
		}
		files = append(files, member{p.name, 0o755, data})
	}
	for _, f := range files {
		if err := add(f.name, tar.TypeReg, f.mode, 0, f.data); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}
