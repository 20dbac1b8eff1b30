//go:build unix

package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// member is a place of one member: its addresses and its data directory, in which an agent
// of either release runs.
type member struct {
	t      *testing.T
	name   string
	dir    string
	gossip string
	raft   string
	api    string
	log    string
	runs   release
	*process
}

// cluster is a grid of durable members.
type cluster struct {
	t       *testing.T
	members []*member
	more    []string // arguments of every agent
}

// status is the part of a status that both releases have, and the protocols of the new one.
type status struct {
	Grid    string `json:"grid"`
	Leader  string `json:"leader"`
	Members []struct {
		Incarnation string `json:"incarnation"`
		API         string `json:"api"`
		Leader      bool   `json:"leader"`
	} `json:"members"`
	Partitions []struct {
		LostTerm int64 `json:"lost_term"`
	} `json:"partitions"`
	Protocol       int `json:"protocol"`
	CommonProtocol int `json:"common_protocol"`
}

// newCluster returns the places of a grid, in which nothing runs yet.
func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	c := &cluster{t: t, more: []string{"--expect", fmt.Sprint(size)}}
	for range size {
		c.add()
	}
	return c
}

// add adds a place to the cluster.
func (c *cluster) add() *member {
	c.t.Helper()
	addrs, err := loopback.FreeAddrs(3)
	if err != nil {
		c.t.Fatal(err)
	}
	dir := c.t.TempDir()
	m := &member{
		t: c.t, name: fmt.Sprintf("m%d", len(c.members)+1), dir: filepath.Join(dir, "data"), log: filepath.Join(dir, "log"),
		gossip: addrs[0], raft: addrs[1], api: addrs[2],
	}
	c.members = append(c.members, m)
	return m
}

// startCluster starts members of one release, which form a grid.
func startCluster(t *testing.T, of release, size int) *cluster {
	t.Helper()
	c := newCluster(t, size)
	for _, m := range c.members {
		c.launch(m, of)
	}
	for _, m := range c.members {
		m.awaitFirst(t)
		m.await("/readyz")
	}
	return c
}

// launch starts an agent of a release in a place, and does not wait for it.
func (c *cluster) launch(m *member, of release) {
	c.t.Helper()
	var join []string
	for _, other := range c.members {
		join = append(join, other.gossip)
	}
	m.runs = of
	m.process = start(c.t, m.name+" ("+of.name+")", m.log, of.agent,
		append([]string{"agent", "--gossip-addr", m.gossip, "--raft-addr", m.raft,
			"--api-addr", m.api, "--data-dir", m.dir, "--join", strings.Join(join, ",")}, c.more...)...)
}

// change ends the agent of a place and starts one of another release, and returns when
// every member is ready and one more may stop.
func (c *cluster) change(m *member, to release, by os.Signal) {
	c.t.Helper()
	began := time.Now()
	if code := m.end(c.t, by); by == syscall.SIGTERM && code != 0 {
		c.t.Errorf("%s ended with status %d\n%s", m.name, code, tail(m.log))
	}
	ended := time.Since(began)
	c.launch(m, to)
	m.awaitFirst(c.t)
	for _, other := range c.members {
		other.await("/readyz")
	}
	for _, other := range c.members {
		other.await("/v1/settled")
	}
	c.t.Logf("%s runs the release %s: ended after %v, all ready and settled after %v", m.name, to.name,
		ended.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// apis returns the API addresses of all members, separated by commas.
func (c *cluster) apis() string {
	var out []string
	for _, m := range c.members {
		out = append(out, m.api)
	}
	return strings.Join(out, ",")
}

// leader returns the place of the present leader.
func (c *cluster) leader() *member {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		for _, m := range c.members {
			s, err := m.status()
			for _, info := range s.Members {
				if err == nil && info.Leader && info.Incarnation == s.Leader {
					for _, found := range c.members {
						if found.api == info.API {
							return found
						}
					}
				}
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatal("no leader")
	return nil
}

// awaitProtocols waits until every member of the present release shows the protocol that
// all members have.
func (c *cluster) awaitProtocols(protocol, common int) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for _, m := range c.members {
		for m.runs.name == "present" {
			s, err := m.status()
			if err == nil && s.Protocol == protocol && s.CommonProtocol == common {
				break
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("%s shows protocol %d, and %d that all members have (%v); want %d and %d", m.name, s.Protocol,
					s.CommonProtocol, err, protocol, common)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// lost returns the sum of the terms in which partitions lost their tables.
func (c *cluster) lost() (sum int64) {
	c.t.Helper()
	s, err := c.members[0].status()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range s.Partitions {
		sum += p.LostTerm
	}
	return sum
}

// client is for the requests of the test itself.
var client = &http.Client{Timeout: 2 * time.Second}

// status asks a member for what it knows.
func (m *member) status() (s status, err error) {
	response, err := client.Post("http://"+m.api+"/v1/status", "application/json",
		bytes.NewReader([]byte(`{"local":true}`)))
	if err != nil {
		return s, err
	}
	defer func() { _ = response.Body.Close() }()
	return s, json.NewDecoder(response.Body).Decode(&s)
}

// await waits until a GET of a path is answered with 200.
func (m *member) await(path string) {
	m.t.Helper()
	deadline, last := time.Now().Add(patience), ""
	for {
		response, err := client.Get("http://" + m.api + path)
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
			last = fmt.Sprintf("%d %s", response.StatusCode, text)
		} else {
			last = err.Error()
		}
		if time.Now().After(deadline) || m.hasEnded() {
			m.t.Fatalf("%s of %s (%s): %s\n%s", path, m.name, m.runs.name, last, tail(m.log))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
