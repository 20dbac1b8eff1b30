package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// chartVersion matches the version lines of Chart.yaml.
var chartVersion = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart writes the Helm chart, with the version of the release.
func (r *release) chart() error {
	dir := filepath.Join(r.source, "deploy", "helm", "snowgrid")
	var files []member
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if name == "Chart.yaml" {
			data = chartVersion.ReplaceAll(data, []byte(`$1: "`+r.number()+`"`))
			if bytes.Count(data, []byte(`"`+r.number()+`"`)) != 2 {
				return fmt.Errorf("%s has no version and appVersion", path)
			}
		}
		files = append(files, member{filepath.ToSlash(name), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	return r.write("snowgrid-chart-"+r.number()+".tgz", func(w io.Writer) error { return r.tarGz(w, "snowgrid", files) })
}
