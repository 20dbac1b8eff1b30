// Package rostertest is shared by the tests of packages roster and internal/roster/plan: short names
// for members, initial rosters, and the invariants of every roster.
package rostertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Formed returns a roster that is formed and has no members, with one backup.
func Formed(t *testing.T, partitions int, window clustertime.Span) *roster.Roster {
	t.Helper()
	form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: partitions, Backups: 1,
		Window: window}}
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Apply returns the roster after a change that must be accepted.
func Apply(t *testing.T, r *roster.Roster, c roster.Change) *roster.Roster {
	t.Helper()
	next, err := r.Apply(roster.Command{From: r.Version, Change: &c})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Raise returns the roster after a raise to now.
func Raise(t *testing.T, r *roster.Roster, now clustertime.Tick) *roster.Roster {
	t.Helper()
	next, err := r.Apply(roster.Command{From: r.Version, Raise: &roster.Raise{Time: now}})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Incarnation turns the name a1 into aaaaaaaaaaaaaaaa-0000000000000001.
func Incarnation(name string) roster.Incarnation {
	return roster.Incarnation(fmt.Sprintf("%s-%016s", strings.Repeat(name[:1], 16), name[1:]))
}

// Incarnations turns each name into an incarnation.
func Incarnations(names []string) []roster.Incarnation {
	var out []roster.Incarnation
	for _, name := range names {
		out = append(out, Incarnation(name))
	}
	return out
}

// Records returns a record for each name; the word "durable" marks the one before it.
func Records(names []string) []roster.Member {
	var out []roster.Member
	for _, name := range names {
		if name == "durable" {
			out[len(out)-1].Durable = true
			continue
		}
		out = append(out, Record(Incarnation(name)))
	}
	return out
}

// Record returns a member record with addresses on loopback.
func Record(i roster.Incarnation) roster.Member {
	return roster.Member{Incarnation: i, API: "127.0.0.1:7948", Raft: "127.0.0.1:7947", Gossip: "127.0.0.1:7946"}
}

// Replicas turns 0c1 into partition 0 of c1.
func Replicas(names ...string) []roster.Replica {
	var out []roster.Replica
	for _, name := range names {
		out = append(out, roster.Replica{Partition: roster.PartitionID(name[0] - '0'), Member: Incarnation(name[1:])})
	}
	return out
}

// MemberIDs returns the members of the named incarnations.
func MemberIDs(names ...string) []roster.MemberID {
	var out []roster.MemberID
	for _, name := range names {
		out = append(out, Incarnation(name).Member())
	}
	return out
}
