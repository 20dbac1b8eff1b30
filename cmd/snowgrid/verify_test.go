package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/verify"
)

// idsFile writes rows into a file.
func idsFile(t *testing.T, rows ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ids.txt")
	if err := os.WriteFile(name, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// tweets are IDs of Twitter's layout: two of one node, and one of another.
var tweets = []string{"1116766490855473152", "1116766490855473153", "1116766490855477250"}

func TestVerify(t *testing.T) {
	status, out, stderr := runCommand(t, "verify", idsFile(t, tweets...), "--layout", "twitter")
	if status != exitDone || stderr != "" || !strings.Contains(out, "problems  none") ||
		!strings.Contains(out, "2019-04-12T18:14:14.595Z") {
		t.Errorf("clean IDs: status %d, %s%s", status, out, stderr)
	}
	picture := filepath.Join(t.TempDir(), "ids.svg")
	rows := append(tweets, tweets[1], "9223372036854775807", "x,1", "-5", "1116766486656974848")
	status, out, stderr = runCommand(t, "verify", idsFile(t, rows...), "--from", "twitter", "--svg", picture)
	for _, part := range []string{
		"line 4: 1116766490855473153 of 2019-04-12T18:14:14.595Z, node 0, counter 1 is in line 2, too",
		"line 5: 9223372036854775807 of 2080-07-10T17:30:30.208Z", `line 6: "x,1" is not a decimal number`,
		"give --id-column",
		`line 7: "-5" is negative, before the epoch`, "line 8: 1116766486656974848 of 2019-04-12T18:14:13.594Z",
		"1.001s before the node's row in line 4",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the report lacks %q: %s", part, out)
		}
	}
	if want := "has 1 duplicate, 1 no ID, 1 too early, 1 in the future, 1 time going back"; status != exitDegraded ||
		!strings.Contains(stderr, want) {
		t.Errorf("status %d, %s", status, stderr)
	}
	if svg, err := os.ReadFile(picture); err != nil || !strings.Contains(string(svg), "</svg>") {
		t.Errorf("the picture is %.100s, %v", svg, err)
	}
	status, out, _ = runCommand(t, "verify", idsFile(t, rows...), "--from", "twitter", "-o", "json", "--show", "0")
	var result verified
	if err := json.Unmarshal([]byte(out), &result); err != nil || status != exitDegraded || result.Rows != 8 ||
		result.IDs != 6 || len(result.Findings) != 0 || result.Problems[verify.Duplicate] != 1 {
		t.Errorf("as JSON: status %d, %v: %s", status, err, out)
	}
}

// TestVerifyColumns: IDs and hosts of a table, from standard input.
func TestVerifyColumns(t *testing.T) {
	in := strings.NewReader("pod;id\na;" + tweets[0] + "\nb;" + tweets[1] + "\n")
	var out, stderr strings.Builder
	status := run(context.Background(), []string{"verify", "-", "--layout", "twitter", "--id-column", "id",
		"--host-column", "pod", "--delimiter", ";"}, streams{out: &out, err: &stderr, in: in})
	if status != exitDegraded || !strings.Contains(out.String(), "the node has IDs of a, b (line 2)") ||
		!strings.Contains(stderr.String(), "the input has 1 node of several hosts") {
		t.Errorf("status %d, %s%s", status, out.String(), stderr.String())
	}
}

func TestVerifyRefused(t *testing.T) {
	file := idsFile(t, tweets...)
	for args, want := range map[string]struct {
		status int
		text   string
	}{
		"/nowhere/ids":                               {exitFailed, "/nowhere/ids: no such file or directory; give a file"},
		t.TempDir():                                  {exitFailed, "is a directory"},
		file + " --from ksuid":                       {exitUsage, "not a known generator"},
		file + " --from twitter --nodes 128":         {exitUsage, "--from states the format"},
		file + " --old-bits 10/12":                   {exitUsage, "change the format of --from"},
		file + " --id-column key":                    {exitUsage, `no column "key"`},
		file + " --id-column 1 --delimiter ab":       {exitUsage, "not one character"},
		file + " --show=-1":                          {exitUsage, "below 0"},
		file + " --node-range 5":                     {exitUsage, "not a range of nodes"},
		file + " --since yesterday":                  {exitUsage, "is not a time"},
		file + " --layout 63/22/1000":                {exitUsage, "power of two"},
		file + " --layout twitter --svg /nowhere/x":  {exitFailed, "no such file"},
		file + " --temp-dir " + file:                 {exitFailed, "not a directory"},
		file + " --layout twitter --order backwards": {exitUsage, "must be one of"},
	} {
		status, out, stderr := runCommand(t, append([]string{"verify"}, strings.Split(args, " ")...)...)
		if status != want.status || !strings.Contains(stderr, want.text) {
			t.Errorf("%s: status %d, %s%s", args, status, out, stderr)
		}
	}
}

func TestVerifyProgressLine(t *testing.T) {
	p := &verify.Progress{}
	p.Rows.Store(1_234_567)
	p.Bytes.Store(50)
	for want, line := range map[string]string{
		"1,234,567 rows read":       progressLine(p, 0),
		"1,234,567 rows read, 25 %": progressLine(p, 200),
	} {
		if line != want {
			t.Errorf("%q, not %q", line, want)
		}
	}
	p.Merging.Store(true)
	p.Merged.Store(1000)
	if line := progressLine(p, 200); line != "1,000 of 1,234,567 rows compared" {
		t.Errorf("%q", line)
	}
}
