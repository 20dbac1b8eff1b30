package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// materials writes a CycloneDX bill of materials for each program and platform, from what the linker
// recorded in it.
func (r *release) materials() error {
	for _, t := range r.targets {
		for _, p := range programs {
			bom, err := r.billOf(p, t)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("%s_%s_%s_%s.cdx.json", p, r.number(), t.os, t.label())
			err = r.write(name, func(w io.Writer) error {
				return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) billOf(p string, t target) (*cyclonedx.BOM, error) {
	info, err := buildinfo.ReadFile(r.built(p, t))
	if err != nil {
		return nil, err
	}
	if info.Main.Version != r.version {
		return nil, fmt.Errorf("%s for %s has the version %s, not %s", p, t, info.Main.Version, r.version)
	}
	digest, err := fileSum(r.built(p, t))
	if err != nil {
		return nil, err
	}
	bom := cyclonedx.NewBOM()
	main, components := modulesOf(info)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, p
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digest}}
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &main}
	bom.Components = &components
	return bom, nil
}

// modulesOf returns the main module that the linker recorded in a program, and the others and the standard library
// that it is built from.
func modulesOf(info *debug.BuildInfo) (main cyclonedx.Component, others []cyclonedx.Component) {
	others = append(others, component(debug.Module{Path: "std", Version: info.GoVersion}))
	for _, d := range info.Deps { // a program of a release has no replaced module
		others = append(others, component(*d))
	}
	return component(info.Main), others
}

// component returns a module with its checksum, if it has one.
func component(m debug.Module) cyclonedx.Component {
	reference := "pkg:golang/" + m.Path + "@" + m.Version
	c := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, BOMRef: reference,
		PackageURL: reference}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

// provenance writes how the files were made, as an in-toto statement in the SLSA form, version 1.
func (r *release) provenance() error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	var subjects []map[string]any
	for _, s := range sums {
		subjects = append(subjects, map[string]any{"name": s.name, "digest": map[string]string{"sha256": s.sum}})
	}
	inputs := []map[string]any{{"uri": "git+" + homepage + "@refs/tags/" + r.version,
		"digest": map[string]string{"gitCommit": r.commit}}}
	for _, name := range []string{"go.sum", "cmd/snowgrid-serve/go.sum", "release/go.sum"} {
		sum, err := fileSum(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		inputs = append(inputs, map[string]any{"uri": name, "digest": map[string]string{"sha256": sum}})
	}
	platforms := make([]string, len(r.targets))
	for i, t := range r.targets {
		platforms[i] = t.String()
	}
	goVersion, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return err
	}
	statement := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            homepage + "/blob/main/docs/verify-release.md",
				"externalParameters":   map[string]any{"version": r.version, "platforms": platforms},
				"internalParameters":   map[string]any{"go": string(goVersion[:len(goVersion)-1]), "tool": runtime.Version()},
				"resolvedDependencies": inputs,
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": homepage + "/blob/main/release"}},
		},
	}
	return r.writeJSON("provenance.intoto.json", statement)
}
