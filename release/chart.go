package main

import (
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
)

// chartVersion matches the version lines of Chart.yaml.
var chartVersion = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart writes the Helm chart, with the version of the release.
func (r *release) chart() error {
	files, err := filesBelow(filepath.Join(r.source, "deploy", "helm", "snowgrid"))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(files, func(f member) bool { return f.name == "Chart.yaml" })
	if i < 0 || len(chartVersion.FindAll(files[i].data, -1)) != 2 {
		return errors.New("deploy/helm/snowgrid/Chart.yaml has no version and appVersion")
	}
	files[i].data = chartVersion.ReplaceAll(files[i].data, []byte(`$1: "`+r.number()+`"`))
	return r.write("snowgrid-chart-"+r.number()+".tgz", func(w io.Writer) error { return r.tarGz(w, "snowgrid", files) })
}
