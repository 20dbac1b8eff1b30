package buildinfo

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildOf(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	hash := "0123456789abcdef0123456789abcdef01234567"
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want Build
		word string
	}{
		"nothing recorded": {nil, Build{Version: "devel"}, "devel"},
		"a released binary": {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.0"}},
			Build{Version: "v1.2.0"}, "v1.2.0"},
		"a tree": {
			&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}, Settings: []debug.BuildSetting{
				setting("vcs.revision", hash), setting("vcs.modified", "true"), setting("vcs.time", "2026-11-22T20:00:00Z"),
			}},
			Build{Version: "devel", Commit: hash, Modified: true, Time: "2026-11-22T20:00:00Z"}, "devel-0123456789ab-modified",
		},
		"embedded": {
			&debug.BuildInfo{
				Main:     debug.Module{Path: "example.org/shop", Version: "v9.9.9"},
				Deps:     []*debug.Module{{Path: "example.org/x", Version: "v3.0.0"}, {Path: module, Version: "v1.1.0"}},
				Settings: []debug.BuildSetting{setting("vcs.revision", hash)},
			},
			Build{Version: "v1.1.0"}, "v1.1.0",
		},
		"replaced by a directory": {
			&debug.BuildInfo{
				Main: debug.Module{Path: module + "/cmd/snowgrid-serve", Version: "(devel)"},
				Deps: []*debug.Module{{Path: module, Version: "v0.1.0", Replace: &debug.Module{Path: "../..", Version: "(devel)"}}},
			},
			Build{Version: "devel"}, "devel",
		},
		"replaced by a fork": {
			&debug.BuildInfo{
				Main: debug.Module{Path: "example.org/shop"},
				Deps: []*debug.Module{{Path: module, Version: "v0.1.0",
					Replace: &debug.Module{Path: "example.org/fork", Version: "v1.1.1"}}},
			},
			Build{Version: "v1.1.1"}, "v1.1.1",
		},
		"a long version": {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1 " + strings.Repeat("x", 99)}},
			Build{Version: "v1 " + strings.Repeat("x", 99)}, "v1-" + strings.Repeat("x", MaxVersion-3)},
	} {
		got := of(test.info)
		if got.Go == "" {
			t.Errorf("%s: no version of Go", name)
		}
		got.Go = ""
		if got != test.want || got.Short() != test.word {
			t.Errorf("%s: %+v (%s), want %+v (%s)", name, got, got.Short(), test.want, test.word)
		}
	}
	if Read().Version == "" {
		t.Error("this process has no version")
	}
}
