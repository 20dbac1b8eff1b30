package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const maintainer = "snowgrid maintainers <maintainers@snowgrid.invalid>"

// unitPath is the program's path in deploy/systemd's unit, and packagedPath the one in packages.
const (
	unitPath     = "/usr/local/bin/snowgrid"
	packagedPath = "/usr/bin/snowgrid"
)

// packages writes a deb and an rpm for each Linux platform. Upgrades keep the configuration and the data; a
// purge removes them.
func (r *release) packages() error {
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(t, format); err != nil {
				return fmt.Errorf("%s for %s: %w", format, t, err)
			}
		}
	}
	return nil
}

func (r *release) pack(t target, format string) error {
	contents, err := r.contents(t, format)
	if err != nil {
		return err
	}
	arch := t.arch
	if t.arm != "" {
		arch += t.arm
	}
	script := func(name string) string { return filepath.Join(r.source, "release", "package", "snowgrid."+name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "snowgrid", Arch: arch, Platform: "linux", Version: r.number(), Section: "net", Priority: "optional",
		Maintainer: maintainer, Description: summary, Homepage: homepage,
		License: licence, Vendor: "snowgrid", MTime: r.time,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts:  nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")},
		},
	})
	info.RPM.BuildHost = "localhost"
	if format == "deb" {
		info.Depends = []string{"passwd", "procps"}
		info.Recommends = []string{"ca-certificates"}
	} else {
		info.Depends = []string{"shadow-utils", "util-linux"}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), func(w io.Writer) error { return packager.Package(info, w) })
}

func (r *release) contents(t target, format string) (out files.Contents, err error) {
	add := func(source, destination, kind string, mode os.FileMode) {
		out = append(out, &files.Content{Source: source, Destination: destination, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}})
	}
	for _, p := range programs {
		add(r.built(p, t), "/usr/bin/"+p, files.TypeFile, 0o755)
	}
	unit, err := os.ReadFile(filepath.Join(r.source, "deploy", "systemd", "snowgrid.service"))
	if err != nil {
		return nil, err
	}
	exec := []byte("\nExecStart=" + unitPath + " ")
	if !bytes.Contains(unit, exec) {
		return nil, fmt.Errorf("the unit does not start %s", unitPath)
	}
	_, body, _ := bytes.Cut(unit, []byte("[Unit]")) // the comment before is how to install without a package
	body = bytes.Replace(body, exec, []byte("\nExecStart="+packagedPath+" "), 1)
	head := []byte("# A member of a grid; see /etc/snowgrid/snowgrid.yaml.\n[Unit]")
	at, err := r.scratch("snowgrid.service", append(head, body...))
	if err != nil {
		return nil, err
	}
	add(at, "/usr/lib/systemd/system/snowgrid.service", files.TypeFile, 0o644)
	add(filepath.Join(r.source, "deploy", "systemd", "snowgrid.yaml"), "/etc/snowgrid/snowgrid.yaml",
		files.TypeConfigNoReplace, 0o644)
	texts, err := r.texts()
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		at, err := r.scratch(text.name, text.data)
		if err != nil {
			return nil, err
		}
		name := text.name
		if name == "LICENSE" && format == "deb" {
			name = "copyright"
		}
		add(at, "/usr/share/doc/snowgrid/"+name, files.TypeFile, 0o644)
	}
	pages, err := r.manual()
	if err != nil {
		return nil, err
	}
	if format == "deb" {
		pages = append(pages[:len(pages):len(pages)], member{"changelog.Debian", 0o644, 0, r.debianChangelog()})
	}
	for _, page := range pages {
		data := page.data
		if file := installed(page.name, format); path.Ext(file) == ".gz" {
			var buf bytes.Buffer
			if err := gzipped(&buf, func(w io.Writer) error { _, err := w.Write(page.data); return err }); err != nil {
				return nil, err
			}
			data = buf.Bytes()
		}
		at, err := r.scratch(format+"/"+page.name, data)
		if err != nil {
			return nil, err
		}
		add(at, installed(page.name, format), files.TypeFile, 0o644)
	}
	return out, nil
}

// debianChangelog returns the entry that Debian's policy requires for each version (section 12.7).
func (r *release) debianChangelog() []byte {
	const entry = "snowgrid (%s) stable; urgency=medium\n\n  * See CHANGELOG.md in this directory.\n\n -- %s  %s\n"
	return fmt.Appendf(nil, entry, r.number(), maintainer, r.time.UTC().Format(time.RFC1123Z))
}

// scratch writes a file that a package takes, and returns its path.
func (r *release) scratch(name string, data []byte) (string, error) {
	path := filepath.Join(r.temp, "scratch", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o644)
}
