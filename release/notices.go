package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// licenceFile matches file names for licence texts.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// notices returns the licence texts for all modules in the programs, and for Go itself.
func (r *release) notices() ([]byte, error) {
	dirs := map[string]string{} // by module and version
	for _, t := range r.targets {
		for _, p := range programs {
			info, err := buildinfo.ReadFile(r.built(p, t))
			if err != nil {
				return nil, err
			}
			for _, d := range info.Deps {
				if d.Path == modulePath || strings.HasPrefix(d.Path, modulePath+"/") {
					continue
				}
				path, err := module.EscapePath(d.Path)
				if err != nil {
					return nil, err
				}
				dirs[d.Path+" "+d.Version] = filepath.Join(r.temp, "modules", path+"@"+d.Version)
			}
		}
	}
	goroot, err := output(".", "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs["Go standard library"] = goroot
	var out bytes.Buffer
	fmt.Fprintln(&out, "The programs of snowgrid contain these modules, under these licences.")
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		texts, err := licenceTexts(dirs[name])
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s has no licence text in %s", name, dirs[name])
		}
		fmt.Fprintf(&out, "\n%s\n%s\n", strings.Repeat("=", 80), name)
		for _, text := range texts {
			fmt.Fprintf(&out, "%s\n%s\n", strings.Repeat("-", 80), bytes.TrimSpace(text))
		}
	}
	return out.Bytes(), nil
}

// licenceTexts returns the licence files in a directory, by name.
func licenceTexts(dir string) (out [][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}
