package main

import (
	"errors"
	"io"
	"path/filepath"
	"regexp"
)

// chartVersion matches the version lines in Chart.yaml.
var chartVersion = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chartDigest matches the line for the image digest in values.yaml.
var chartDigest = regexp.MustCompile(`(?m)^  digest: "".*$`)

// chart writes the Helm chart, with the release version and the image digest.
func (r *release) chart() error {
	files, err := filesBelow(filepath.Join(r.source, "deploy", "helm", "snowgrid"))
	if err != nil {
		return err
	}
	edited := 0
	for i, f := range files {
		switch f.name {
		case "Chart.yaml":
			edited += len(chartVersion.FindAll(f.data, -1))
			files[i].data = chartVersion.ReplaceAll(f.data, []byte(`$1: "`+r.number()+`"`))
		case "values.yaml":
			edited += len(chartDigest.FindAll(f.data, -1))
			files[i].data = chartDigest.ReplaceAll(f.data, []byte(`  digest: "`+r.digest+`"`))
		}
	}
	if edited != 3 {
		return errors.New("deploy/helm/snowgrid lacks version or appVersion in Chart.yaml, or the image's digest in " +
			"values.yaml")
	}
	return r.write("snowgrid-chart-"+r.number()+".tgz", func(w io.Writer) error { return r.tarGz(w, "snowgrid", files) })
}
