// Package overhttp runs a generator of package grants against members over HTTP.
package overhttp

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Generator makes IDs of one sequencer, which it creates if necessary. It is not safe for concurrent use.
type Generator struct {
	client *http.Client
	name   string
	rules  *grants.Generator
	began  time.Time // of its monotonic clock
}

// New returns a generator without a grant.
func New(client *http.Client, name string) *Generator {
	return &Generator{client: client, name: name, rules: grants.New(rand.Int64N), began: time.Now()}
}

func (g *Generator) at() int64 { return time.Since(g.began).Milliseconds() }

// RequestDue sends the request that is due to the member at a base address. It returns false if none is due.
func (g *Generator) RequestDue(base string) bool {
	due, ready := g.rules.Due()
	if !ready || due > g.at() {
		return false
	}
	in := wire.GrantRequest{Grant: g.rules.Request(g.at())}
	if in.Grant == "" {
		in.Name, in.Create = g.name, &wire.IDsCreate{}
	}
	status, answer, err := g.call(http.MethodPost, base, in)
	var reply grants.Reply
	var refused grants.Refusal
	switch {
	case err != nil: // no reply
		g.rules.Refused(g.at(), refused)
	case status == http.StatusOK && json.Unmarshal(answer, &reply) == nil:
		g.rules.Replied(g.at(), reply)
	default:
		_ = json.Unmarshal(answer, &refused)
		g.rules.Refused(g.at(), refused)
	}
	return true
}

// Next returns an ID, or the time to wait before the next try: 0 until a reply.
func (g *Generator) Next() (id int64, wait time.Duration, err error) {
	id, ms, err := g.rules.Next(g.at())
	return id, time.Duration(ms) * time.Millisecond, err
}

// Release releases the grant at the member at a base address.
func (g *Generator) Release(base string) error {
	grant, last := g.rules.Release()
	if grant == "" {
		return nil
	}
	_, _, err := g.call(http.MethodDelete, base, wire.GrantRelease{Grant: grant, Last: new(clustertime.Tick(last))})
	return err
}

func (g *Generator) call(method, base string, in any) (status int, answer []byte, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequest(method, base+wire.PathGrants, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", wire.JSON)
	res, err := g.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, answer, err
}
