package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJudge: a licence that is not allowed, or is unknown, or missing, is refused by name.
func TestJudge(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms ... the above copyright notice ..."
	for name, c := range map[string]struct {
		module string
		files  map[string]string
		says   string // "" = accepted
	}{
		"MIT": {"a/b",
			map[string]string{"LICENSE": "Permission is hereby granted, free of charge, to any\n person obtaining a copy ... " +
				"without restriction"}, ""},
		"BSD":            {"a/b", map[string]string{"LICENSE.md": bsd}, ""},
		"a logo as well": {"a/b", map[string]string{"COPYING": bsd, "LICENSE-LOGO": "see elsewhere"}, ""},
		"MPL of raft": {"github.com/hashicorp/raft",
			map[string]string{"LICENSE": "Mozilla Public License, version 2.0 ... GNU Affero General Public License"}, ""},
		"MPL of another": {"a/b", map[string]string{"LICENSE": "Mozilla Public License, version 2.0"}, "MPL-2.0"},
		"AGPL":           {"a/b", map[string]string{"LICENSE": "GNU AFFERO GENERAL PUBLIC LICENSE Version 3"}, "AGPL"},
		"BUSL of raft": {"github.com/hashicorp/raft",
			map[string]string{"LICENSE": "Business Source License 1.1"}, "BUSL"},
		"unknown":          {"a/b", map[string]string{"LICENSE": "ask me"}, "unknown"},
		"two, one refused": {"a/b", map[string]string{"LICENSE": bsd, "COPYING": "GNU General Public License"}, "GPL"},
		"none":             {"a/b", map[string]string{"README": bsd}, "no licence file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			names, err := licencesIn(dir, licenceFile)
			if err == nil {
				err = judge(c.module, names)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
