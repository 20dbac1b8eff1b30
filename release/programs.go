package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// target is a platform that a release has programs for.
type target struct{ os, arch, arm string }

var targets = []target{
	{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"linux", "arm", "7"},
	{"darwin", "amd64", ""}, {"darwin", "arm64", ""}, {"windows", "amd64", ""},
}

// String returns the platform as in linux/armv7.
func (t target) String() string { return t.os + "/" + t.label() }

// label returns the architecture as file names have it.
func (t target) label() string {
	if t.arm != "" {
		return t.arch + "v" + t.arm
	}
	return t.arch
}

func (t target) exe() string {
	if t.os == "windows" {
		return ".exe"
	}
	return ""
}

// selectTargets returns the named platforms, or all.
func selectTargets(names []string) ([]target, error) {
	if len(names) == 0 {
		return targets, nil
	}
	var out []target
	for _, name := range names {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("platform %q: give one of %v", name, targets)
		}
		out = append(out, targets[i])
	}
	return out, nil
}

// programs are the released commands, below cmd in the directories with their names.
var programs = []string{"snowgrid", "snowgrid-serve"}

// built returns the path to a program that was built for a platform.
func (r *release) built(p string, t target) string {
	return filepath.Join(r.temp, "built", t.os+"_"+t.label(), p+t.exe())
}

// programs builds each program for each platform, and then an archive with both and all licences.
func (r *release) programs() error {
	for _, t := range r.targets {
		for _, p := range programs {
			if err := r.compile(p, t); err != nil {
				return err
			}
		}
	}
	for _, t := range r.targets {
		if err := r.archive(t); err != nil {
			return err
		}
	}
	return nil
}

// compile builds a program as `go install` does from its tag. So anyone can make the same bytes:
//
//	CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' github.com/snowgrid/snowgrid/cmd/snowgrid@v1.2.3
func (r *release) compile(p string, t target) error {
	c := exec.Command("go", "install", "-trimpath", "-ldflags", "-s -w", modulePath+"/cmd/"+p+"@"+r.version)
	c.Dir, c.Stderr = r.temp, os.Stderr
	c.Env = append(slices.Clone(r.env), "GOOS="+t.os, "GOARCH="+t.arch, "GOARM="+t.arm)
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s for %s: %w", p, t, err)
	}
	dir := filepath.Join(r.temp, "path", "bin")
	if t.os != runtime.GOOS || t.arch != runtime.GOARCH {
		dir = filepath.Join(dir, t.os+"_"+t.arch)
	}
	if err := os.MkdirAll(filepath.Dir(r.built(p, t)), 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, p+t.exe()), r.built(p, t))
}

// goEnvironment returns the environment of the go command: it takes the release's own modules from the local
// repository, as if the tags had been pushed, and other modules from the machine's cache, or else as usual.
func goEnvironment(temp, source string) ([]string, error) {
	cache, err := output(".", "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	proxy, err := output(".", "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	return append(os.Environ(), "GOPATH="+filepath.Join(temp, "path"), "GOMODCACHE="+filepath.Join(temp, "modules"),
		"GOPROXY=file://"+filepath.ToSlash(cache)+"/cache/download,"+proxy, "GOPRIVATE="+modulePath, "GOBIN=",
		"GOFLAGS=-modcacherw", "GOWORK=off", "GOEXPERIMENT=", "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+source+".insteadOf",
		"GIT_CONFIG_VALUE_0=https://"+modulePath), nil
}

// member is a file in an archive, or with a name that ends with a slash a directory.
type member struct {
	name  string
	mode  int64
	owner int // user and group
	data  []byte
}

// filesBelow returns all files below a directory in lexical order, with their paths in it.
func filesBelow(dir string) (files []member, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, member{filepath.ToSlash(name), 0o644, 0, data})
		return err
	})
	return files, err
}

// texts returns the files that each archive, package and image has beside the programs.
func (r *release) texts() (out []member, err error) {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		out = append(out, member{name, 0o644, 0, data})
	}
	notices, err := r.notices()
	if err != nil {
		return nil, err
	}
	return append(out, member{"THIRD-PARTY-LICENSES.txt", 0o644, 0, notices}), nil
}

// archive writes both programs, the texts, the manual and the completion scripts for a platform.
func (r *release) archive(t target) error {
	files, err := r.texts()
	if err != nil {
		return err
	}
	pages, err := r.manual()
	if err != nil {
		return err
	}
	files = append(files, pages...)
	for _, p := range programs {
		data, err := os.ReadFile(r.built(p, t))
		if err != nil {
			return err
		}
		files = append(files, member{p + t.exe(), 0o755, 0, data})
	}
	base := fmt.Sprintf("snowgrid_%s_%s_%s", r.number(), t.os, t.label())
	if t.os == "windows" {
		return r.write(base+".zip", func(w io.Writer) error { return r.zip(w, base, files) })
	}
	return r.write(base+".tar.gz", func(w io.Writer) error { return r.tarGz(w, base, files) })
}

// write creates a release file.
func (r *release) write(name string, fill func(w io.Writer) error) (err error) {
	var buf bytes.Buffer
	if err := fill(&buf); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(r.out, name), buf.Bytes(), 0o644)
}

// writeJSON creates a release file with a value in JSON.
func (r *release) writeJSON(name string, value any) error {
	return r.write(name, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(value)
	})
}

// gzipped compresses what fill writes the same way each time: without a name and a time.
func gzipped(w io.Writer, fill func(w io.Writer) error) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(fill(z), z.Close())
}

// tarGz writes files below a directory, with the commit's time.
func (r *release) tarGz(w io.Writer, dir string, files []member) error {
	return gzipped(w, func(w io.Writer) error { return r.tar(w, dir, files) })
}

func (r *release) tar(w io.Writer, dir string, files []member) error {
	out := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Name: strings.TrimPrefix(dir+"/"+f.name, "/"), Mode: f.mode, Size: int64(len(f.data)),
			ModTime: r.time, Uid: f.owner, Gid: f.owner, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.data); err != nil {
			return err
		}
	}
	return out.Close()
}

func (r *release) zip(w io.Writer, dir string, files []member) error {
	out := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: r.time}
		header.SetMode(os.FileMode(f.mode))
		file, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(f.data); err != nil {
			return err
		}
	}
	return out.Close()
}
