// Command licences checks the licences of every module that this repository's packages and
// tests use, by the licence files in the module cache.
//
//	go run -C proof ./licences DIR...
//
// Each directory has a go.mod. A module whose licence is not one of those in allowed, or
// cannot be recognized, is printed, and the exit status is 1.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licence is a licence by words that only its text has.
type licence struct {
	name  string
	words []string // all of them, in any order, separated by one space
}

// licences are those that are recognized, the most specific first.
var licences = []licence{
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}}, // it names the licences below
	{"AGPL", []string{"gnu affero general public license"}},
	{"LGPL", []string{"gnu lesser general public license"}},
	{"GPL", []string{"gnu general public license"}},
	{"SSPL", []string{"server side public license"}},
	{"BUSL", []string{"business source license"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy",
		"without restriction"}},
	{"ISC", []string{"permission to use, copy, modify, and",
		"distribute this software for any purpose with or without fee is hereby granted"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "names of its contributors may",
		"endorse or promote"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name",
		"endorse or promote"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms", "the above copyright notice"}},
}

// allowed are the licences that any module may have.
var allowed = []string{"Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause"}

// weak are modules of the MPL-2.0, which asks for the source of changed files alone. None of
// them is changed here.
var weak = regexp.MustCompile(`^github\.com/(hashicorp/|go-sql-driver/mysql$)|^pgregory\.net/rapid$`)

// licenceFile matches the names of licence files. Others, such as LICENSE-LOGO, are of parts
// of a module, and count only if it has none of these.
var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)(\.(md|txt))?$`)
	partFile    = regexp.MustCompile(`(?i)^(licen[cs]e|copying)[-._]`)
)

func main() {
	bad, seen := false, map[string]string{}
	for _, dir := range os.Args[1:] {
		modules, err := modulesOf(dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "licences: %s: %v\n", dir, err)
			os.Exit(1)
		}
		for module, at := range modules {
			if _, known := seen[module]; known {
				continue
			}
			names, err := licencesIn(at, licenceFile)
			if err == nil && len(names) == 0 {
				names, err = licencesIn(at, partFile)
			}
			if err == nil {
				err = judge(module, names)
			}
			if err != nil {
				fmt.Printf("%s (used by %s): %v\n", module, dir, err)
				bad = true
			}
			seen[module] = strings.Join(names, " ")
		}
	}
	if bad {
		os.Exit(1)
	}
	count := map[string]int{}
	for _, names := range seen {
		count[names]++
	}
	fmt.Printf("%d modules: %v\n", len(seen), count)
}

// modulesOf returns the modules that the packages and tests of one use, with their
// directories.
func modulesOf(dir string) (map[string]string, error) {
	list := exec.Command("go", "list", "-deps", "-test", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./...")
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		module, at, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if module != "" && !strings.HasPrefix(module, "github.com/snowgrid/snowgrid") {
			modules[module] = at
		}
	}
	return modules, nil
}

// licencesIn returns the licences in a module's directory, in the files of some names, sorted.
func licencesIn(dir string, file *regexp.Regexp) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() || !file.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		names = append(names, recognize(string(text)))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// recognize returns the name of a licence by its text, "unknown" if it is none of ours.
func recognize(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, l := range licences {
		if !slices.ContainsFunc(l.words, func(w string) bool { return !strings.Contains(text, w) }) {
			return l.name
		}
	}
	return "unknown"
}

// judge returns an error if a module's licences are not all allowed.
func judge(module string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("it has no licence file")
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) && (name != "MPL-2.0" || !weak.MatchString(module)) {
			return fmt.Errorf("its licence is %s; allowed are %s", name, strings.Join(allowed, ", "))
		}
	}
	return nil
}
