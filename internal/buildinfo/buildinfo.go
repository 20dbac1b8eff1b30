// Package buildinfo says which build of snowgrid a process runs. Go's linker records it
// in the binary; a package builder may set it.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

const module = "github.com/snowgrid/snowgrid"

// Set by builders that have no version control directory:
//
//	go build -ldflags "-X github.com/snowgrid/snowgrid/internal/buildinfo.version=v1.2.0"
var version, commit string

// MaxVersion is how many bytes [Build.Short] has at most.
const MaxVersion = 64

// Build is one build of snowgrid.
type Build struct {
	Version  string // of the module, such as v1.2.0; devel in a tree without a version
	Commit   string // hash of the commit, "" if it is not known
	Modified bool   // the tree had changes that were not committed
	Time     string // of the commit, RFC 3339, "" if it is not known
	Go       string // version of the compiler
}

// Read returns the build of this process. In a program that embeds snowgrid it is the
// version of the module that was linked.
var Read = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo()
	return of(info)
})

// of returns the build that the linker's record describes, nil for none.
func of(info *debug.BuildInfo) Build {
	b := Build{Version: version, Commit: commit, Go: runtime.Version()}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	main := &info.Main
	if main.Path == module {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision" && b.Commit == "":
				b.Commit = setting.Value
			case setting.Key == "vcs.modified":
				b.Modified = setting.Value == "true"
			case setting.Key == "vcs.time":
				b.Time = setting.Value
			}
		}
	} else {
		main = &debug.Module{}
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				main = dependency
			}
		}
		if main.Replace != nil { // the linked module, not the required one; a directory has no version
			main = main.Replace
		}
	}
	if b.Version == "" {
		b.Version = main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	return b
}

// Short returns the build in one word of at most MaxVersion bytes: the version, and for a
// tree without one the first digits of the commit.
func (b Build) Short() string {
	text := b.Version
	if b.Version == "devel" && b.Commit != "" {
		text += "-" + b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			text += "-modified"
		}
	}
	text = strings.Join(strings.Fields(text), "-")
	return text[:min(len(text), MaxVersion)]
}
