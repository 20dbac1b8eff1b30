package main

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/roster"
)

type versionCommand struct {
	outputFlag
}

// versionFlag is --version, which does the same as the command.
type versionFlag bool

// BeforeReset prints the version and ends the program, as --help does.
func (versionFlag) BeforeReset(app *kong.Kong, to streams) error {
	err := (&versionCommand{}).Run(to)
	app.Exit(exitDone)
	return err
}

type versionInfo struct {
	Version        string `json:"version"`
	Commit         string `json:"commit,omitempty"`
	Modified       bool   `json:"modified"` // the tree had changes that were not committed
	CommitTime     string `json:"commit_time,omitempty"`
	Go             string `json:"go"`
	Protocol       int    `json:"protocol"`        // that it speaks with members of the same version
	OldestProtocol int    `json:"oldest_protocol"` // of the members that it works with
}

func (c *versionCommand) Run(to streams) error {
	b := buildinfo.Read()
	v := versionInfo{
		Version: b.Version, Commit: b.Commit, Modified: b.Modified, CommitTime: b.Time, Go: b.Go,
		Protocol: int(roster.CurrentProtocol), OldestProtocol: int(roster.OldestProtocol),
	}
	return c.result(to.out, v, func(w io.Writer) {
		fmt.Fprintf(w, "version\t%s\ncommit\t%s%s\n", v.Version, orNone(v.Commit),
			unless(!v.Modified, " with local changes"))
		if v.CommitTime != "" {
			fmt.Fprintf(w, "committed\t%s\n", v.CommitTime)
		}
		fmt.Fprintf(w, "go\t%s\nprotocol\t%d, works with %d to %d\n", v.Go, v.Protocol, v.OldestProtocol, v.Protocol)
	})
}
