package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/proof/overhttp"
	"github.com/snowgrid/snowgrid/sequencer"
)

// generators is a process in another language: it makes IDs by the rules of docs/grants.md.
type generators struct {
	bases  []string
	client *http.Client
}

func newGenerators(addrs []string) generators {
	g := generators{client: &http.Client{Timeout: 2 * time.Second}}
	for _, addr := range addrs {
		g.bases = append(g.bases, "http://"+addr)
	}
	return g
}

// base returns the address of any member.
func (g generators) base() string { return g.bases[rand.IntN(len(g.bases))] }

// generate makes IDs of one sequencer until ctx ends, and calls serves after the first ones.
func (g generators) generate(ctx context.Context, name string, counts *counts, serves func()) error {
	ids := overhttp.New(g.client, name)
	err := issue(ctx, name, serves, func() (sequencer.ID, error) {
		began := time.Now()
		defer func() { counts.took(time.Since(began)) }()
		for time.Since(began) < patience {
			ids.RequestDue(g.base())
			id, wait, err := ids.Next()
			if id != 0 || err != nil {
				counts.ids.Add(1)
				return sequencer.ID(id), err
			}
			time.Sleep(min(max(wait, time.Millisecond), 20*time.Millisecond))
		}
		return 0, fmt.Errorf("no ID for %v", patience)
	})
	return errors.Join(err, ids.Release(g.base()))
}

// addresses returns the members of the flag -addrs.
func addresses() []string { return strings.Split(*addrs, ",") }
