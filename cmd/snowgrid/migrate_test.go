package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestMigrate: the printed lines define the same sequencer in each language.
func TestMigrate(t *testing.T) {
	t.Parallel()
	status, out, stderr := runCommand(t, "migrate", "--from", "bwmarrin", "--max-id", "1116766490855473152", "--parallel",
		"--old-nodes", "0-31", "--name", "it's", "-o", "json")
	var m migration
	if err := json.Unmarshal([]byte(out), &m); status != exitDone || err != nil {
		t.Fatalf("status %d, %v: %s%s", status, err, out, stderr)
	}
	nodes := sequencer.NodeRange{Lo: 32, Hi: 1023}
	if m.Layout != sequencer.Twitter() || m.Epoch != 1288834974657 || *m.NodeRange != nodes ||
		!m.Same || !m.Parallel || m.FirstID <= m.MaxID || m.Ends.Year() != 2080 {
		t.Errorf("the plan is %+v", m)
	}
	body, found := strings.CutPrefix(m.HTTP, "POST /v1/ids ")
	var request struct {
		Name   string
		Create struct {
			Epoch     int64
			Layout    sequencer.Layout
			NodeRange sequencer.NodeRange `json:"node_range"`
		}
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil || !found || request.Name != "it's" ||
		request.Create.Layout != m.Layout || request.Create.Epoch != m.Epoch || request.Create.NodeRange != *m.NodeRange {
		t.Errorf("the request is %s: %v", m.HTTP, err)
	}
	if want := `snowgrid next 'it'\''s' --epoch 2010-11-04T01:42:54.657Z --layout 63/22/1024 --node-range 32-1023`; m.Command != want {
		t.Errorf("the command is %s, not %s", m.Command, want)
	}
	parsed, err := parse(t, strings.Split(strings.Replace(m.Command, `'it'\''s'`, "orders", 1), " ")[1:]...)
	if err != nil || parsed.Next.Config() != (sequencer.Config{Epoch: epoch.Twitter, Layout: m.Layout, NodeRange: nodes}) {
		t.Errorf("the command means %+v, %v", parsed.Next.Config(), err)
	}
	status, out, _ = runCommand(t, "migrate", "--from", "uid-generator", "--max-id", "8000000000000000000")
	for _, part := range []string{"In Go", "Over HTTP", "YAML", "stop every process of uid-generator", "soon, because"} {
		if !strings.Contains(out, part) || status != exitDone {
			t.Errorf("the text lacks %q: %s", part, out)
		}
	}
}

func TestMigrateRefused(t *testing.T) {
	for args, want := range map[string]struct {
		status int
		text   string
	}{
		"--from hazelcast --max-id 1 --parallel":                      {exitFailed, "cannot run in parallel"},
		"--from bwmarrin --max-id=-1":                                 {exitUsage, "is not an ID"},
		"--from bwmarrin --max-id 1 --old-bits 10":                    {exitUsage, "as in 10/12"},
		"--from bwmarrin --max-id 1 --old-bits 0/5":                   {exitUsage, "no layout of 63 bits"},
		"--from bwmarrin --max-id 1 --old-unit 1us":                   {exitUsage, "1ms to 1h"},
		"--from bwmarrin --max-id 1 --old-nodes 9-3":                  {exitUsage, "not a range of logical nodes"},
		"--from bwmarrin --max-id 1 --old-nodes 0-0":                  {exitUsage, "not a range of logical nodes"},
		"--from bwmarrin --max-id 1 --parallel --old-nodes 0-5000":    {exitFailed, "not within 0 to 1023"},
		"--from bwmarrin --max-id 9000000000000000000":                {exitFailed, "give its bits and epoch"},
		"--from ksuid --max-id 1":                                     {exitUsage, "must be one of"},
		"--from uid-generator --max-id 9200000000000000000":           {exitFailed, "within a year"},
		"--from bwmarrin --max-id 1 --old-epoch 1990-01-01 --name \n": {exitUsage, "control character"},
	} {
		status, out, stderr := runCommand(t, append([]string{"migrate"}, strings.Split(args, " ")...)...)
		if status != want.status || !strings.Contains(stderr, want.text) {
			t.Errorf("%s: status %d, %s%s", args, status, out, stderr)
		}
	}
}
