package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

func TestParseAssignments(t *testing.T) {
	two := 2
	got, err := parseAssignments([]string{"backups=2", "window=30s", "voters=5", "expect=4"})
	if want := (wire.SettingsRequest{Backups: &two, Window: 30_000, Voters: 5, Expect: 4}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("%+v, error %v", got, err)
	}
	for text, want := range map[string]string{
		"backups":             "give NAME=VALUE",
		"backups=":            "give NAME=VALUE",
		"backups=-1":          "give 0 for none, or 1 to 32767",
		"backups=two":         "give 0 for none",
		"backups=32768":       "1 to 32767",
		"backups=1 backups=1": "given twice",
		"window=30":           "give a duration with its unit, such as 30s: 1s to 1h0m0s",
		"window=2h":           "1s to 1h0m0s",
		"window=1500us":       "whole milliseconds",
		"voters=4":            "give 1, 3, 5 or 7",
		"voters=9":            "give 1, 3, 5 or 7",
		"expect=0":            "give 1 to 1000",
		"expect=1001":         "give 1 to 1000",
		"expect=all":          "give 1 to 1000",
		"partitions=31":       "partitions is fixed when the grid is formed",
		"name=x":              "name is fixed",
		"backup=1":            `"backup" is not a grid setting; did you mean backups?`,
	} {
		status, _, stderr := runCommand(t, append([]string{"settings", "set"}, strings.Fields(text)...)...)
		if status != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d: %s, want %s", text, status, stderr, want)
		}
	}
	for _, command := range []string{"settings", "settings show"} {
		if status, _, stderr := runCommand(t,
			append(strings.Fields(command), "--addr", "127.0.0.1:1")...); status != exitUnreachable {
			t.Errorf("%s: status %d: %s", command, status, stderr)
		}
	}
}
