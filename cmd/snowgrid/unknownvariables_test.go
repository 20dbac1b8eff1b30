package main

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestTyposInVariables(t *testing.T) {
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"SNOWGRID_EXPECT=3", "SNOWGRID_EXPCT=3", "SNOWGRID_GOSSIP_KEY_FIL=/k", "SNOWGRID_CONFIG=f", "SNOWGRID_ADDR=a:1",
		"HOME=/root",
		"SNOWGRID_SERVICE_HOST=10.0.0.1", "SNOWGRID_PORT_7948_TCP_ADDR=10.0.0.1", "SNOWGRID_" + strings.Repeat("X", 1<<16) +
			"=1", "SNOWGRID_", "=x",
	}
	want := []typo{{"SNOWGRID_EXPCT", "SNOWGRID_EXPECT"}, {"SNOWGRID_GOSSIP_KEY_FIL", "SNOWGRID_GOSSIP_KEY_FILE"}}
	if got := typosIn(environ, parser.Model); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	t.Setenv("SNOWGRID_EXPCT", "3")
	if _, stdout, _ := runCommand(t, "config", "check", writeConfig(t, "expect: 3\n")); !strings.Contains(stdout,
		"SNOWGRID_EXPCT has no effect; did you mean SNOWGRID_EXPECT?") {
		t.Errorf("config check: %s", stdout)
	}
}
