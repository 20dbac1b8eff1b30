package main

import (
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
	files := []member{
		{"data/", 0o700, imageUser, nil}, {"etc/", 0o755, 0, nil}, {"etc/snowgrid/", 0o755, 0, nil},
		{"etc/snowgrid/security/", 0o755, 0, nil}, {"etc/ssl/", 0o755, 0, nil}, {"etc/ssl/certs/", 0o755, 0, nil},
		{"tmp/", 0o1777, 0, nil}, {"licenses/", 0o755, 0, nil},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil, "snowgrid:x:%d:%d:snowgrid:/data:/sbin/nologin\n", imageUser, imageUser)},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "snowgrid:x:%d:\n", imageUser)},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()},
	}
	texts, err := r.texts()
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		files = append(files, member{"licenses/" + text.name, text.mode, 0, text.data})
	}
	for _, p := range programs {
		data, err := os.ReadFile(r.built(p, t))
		if err != nil {
			return nil, err
		}
		files = append(files, member{p, 0o755, 0, data})
	}
	var buf bytes.Buffer
	err = r.tar(&buf, "", files)
	return buf.Bytes(), err
}
