package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"time"
)

// bundleFile writes a bundle: a tar.gz that ends with the manifest.
type bundleFile struct {
	file     *os.File
	zip      *gzip.Writer
	tar      *tar.Writer
	dir      string // inside the archive
	manifest bundleManifest
}

// bundleManifest lists a bundle's files and the problems met while collecting it.
type bundleManifest struct {
	Created  time.Time       `json:"created"`
	Build    string          `json:"build"` // of the command that collected it
	Addrs    []string        `json:"addrs"` // that were given
	OpsAddrs []string        `json:"ops_addrs"`
	Files    []bundledFile   `json:"files"`
	Problems []bundleProblem `json:"problems"`
}

type bundledFile struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// bundleProblem is one thing that could not be collected.
type bundleProblem struct {
	What  string `json:"what"`
	Error string `json:"error"`
}

// createBundle starts a bundle, readable by this user only: profiles contain a process's memory.
func createBundle(name string, m bundleManifest) (*bundleFile, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("--file=%s: the file exists; give another name", name)
	}
	if err != nil {
		return nil, fmt.Errorf("--file=%s: %w; give a file in a writable directory", name, err)
	}
	zip := gzip.NewWriter(file)
	m.Files, m.Problems = []bundledFile{}, []bundleProblem{}
	return &bundleFile{file: file, zip: zip, tar: tar.NewWriter(zip), dir: "snowgrid-bundle-" +
		m.Created.Format("20060102T150405Z"), manifest: m}, nil
}

func (b *bundleFile) add(name string, data []byte) error {
	sum := sha256.Sum256(data)
	b.manifest.Files = append(b.manifest.Files,
		bundledFile{Name: name, Bytes: len(data), SHA256: hex.EncodeToString(sum[:])})
	return b.write(name, data)
}

func (b *bundleFile) addJSON(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return b.add(name, append(data, '\n'))
}

// lacks records a failure to collect an item.
func (b *bundleFile) lacks(what string, err error) {
	b.manifest.Problems = append(b.manifest.Problems, bundleProblem{What: what, Error: sentence(err)})
}

func (b *bundleFile) write(name string, data []byte) error {
	err := b.tar.WriteHeader(&tar.Header{Name: path.Join(b.dir, name), Mode: 0o600, Size: int64(len(data)),
		ModTime: b.manifest.Created, Typeflag: tar.TypeReg})
	if err == nil {
		_, err = b.tar.Write(data)
	}
	return err
}

// close writes the manifest and ends the bundle.
func (b *bundleFile) close() error {
	data, err := json.MarshalIndent(b.manifest, "", "  ")
	if err == nil {
		err = b.write("manifest.json", append(data, '\n'))
	}
	return errors.Join(err, b.tar.Close(), b.zip.Close(), b.file.Sync(), b.file.Close())
}
