//go:build unix

package upgrade

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReleaseBeforeAndNewFeatures: a new feature is refused while a member runs the release
// before, with an error that names it. Once one is in use, a process of the release before
// ends its part with an error, whether it gets the log, starts on it, or is new; the other
// members and their holders do not notice.
func TestReleaseBeforeAndNewFeatures(t *testing.T) {
	t.Parallel()
	before, present := releases(t)
	c := startCluster(t, present, 3)
	l := startLoad(t, c, 2, 10, before, present)
	third := c.members[2]

	c.change(third, before, syscall.SIGTERM)
	code, text := setNote(t, c.members[0])
	for _, word := range []string{fmt.Sprintf("protocol %d", NextProtocol),
		fmt.Sprintf("%s runs snowgrid devel (protocol %d)", third.api, PreviousProtocol), "upgrade it"} {
		if code == http.StatusOK || !strings.Contains(text, word) {
			t.Errorf("a new feature beside the release before: %d %s; want %q", code, text, word)
		}
	}
	t.Logf("refused: %d %s", code, text)
	c.awaitProtocols(1, PreviousProtocol)

	// The third member is away while the feature is used for the first time.
	third.end(t, os.Kill)
	third.runs = release{}
	deadline := time.Now().Add(patience)
	for {
		if code, text = setNote(t, c.members[0]); code == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no note: %d %s", code, text)
		}
		time.Sleep(200 * time.Millisecond)
	}
	c.awaitProtocols(NextProtocol, NextProtocol)

	c.launch(third, before)
	// Whichever reaches it first: the answer to its application, or the log from the leader,
	// for which it may still be a voter.
	said := awaitLog(t, third, refusedProtocol, unreadable)
	t.Logf("with the log of the others: %s", said)
	if !third.hasEnded() {
		if response, err := client.Get("http://" + third.api + "/readyz"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				t.Error("a member that cannot read the roster is ready")
			}
		}
	}
	l.running("beside a member that cannot read the roster")
	third.end(t, os.Kill)

	if err := os.Truncate(third.log, 0); err != nil {
		t.Fatal(err)
	}
	c.launch(third, before)
	select {
	case <-third.ended:
		t.Logf("on its own log: status %d: %s", third.cmd.ProcessState.ExitCode(), lastLine(third.log))
		if third.cmd.ProcessState.ExitCode() == 0 || !strings.Contains(tail(third.log), unreadable) {
			t.Errorf("a start on a log that it cannot read: %s", tail(third.log))
		}
	case <-time.After(10 * time.Second): // the entry did not reach its disk
		t.Logf("on its own log: %s", awaitLog(t, third, refusedProtocol, unreadable))
		third.end(t, os.Kill)
	}
	l.running("beside a member that does not start")

	c.launch(third, present)
	third.awaitFirst(t)
	for _, m := range c.members {
		m.await("/readyz")
		m.await("/v1/settled")
	}
	c.awaitProtocols(NextProtocol, NextProtocol)

	fourth := c.add()
	c.launch(fourth, before)
	said = awaitLog(t, fourth, "join refused")
	t.Logf("new: %s", said)
	for _, word := range []string{fmt.Sprintf("(protocol %d)", PreviousProtocol),
		fmt.Sprintf("uses protocol %d", NextProtocol), refusedProtocol} {
		if !strings.Contains(said, word) {
			t.Errorf("a new member of the release before: %s; want %q", said, word)
		}
	}
	fourth.end(t, os.Kill)
	c.launch(fourth, present)
	fourth.awaitFirst(t)
	fourth.await("/readyz")
	l.running("at the end")
	l.end()
}

// setNote sets the note, which is a feature of the next protocol.
func setNote(t *testing.T, at *member) (status int, text string) {
	t.Helper()
	body := `{"note":"kept"}`
	response, err := (&http.Client{Timeout: 10 * time.Second}).Post("http://"+at.api+"/v1/settings", "application/json",
		bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// awaitLog waits for a line of a log with one of the texts, and returns it.
func awaitLog(t *testing.T, of *member, texts ...string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		data, err := os.ReadFile(of.log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			for _, text := range texts {
				if strings.Contains(line, text) {
					return strings.TrimSpace(line)
				}
			}
		}
	}
	t.Fatalf("none of %q is in the log:\n%s", texts, tail(of.log))
	return ""
}

// The words of the release before in a grid that uses a part of protocol 2, and of its own log
// with such a part.
const (
	refusedProtocol = "start the member with a release that has protocol 2"
	unreadable      = "it has format 2 and this version of snowgrid reads format 1"
)

// lastLine returns the last line of a file.
func lastLine(file string) string {
	lines := strings.Split(strings.TrimSpace(tail(file)), "\n")
	return lines[len(lines)-1]
}
