// Package rostertest has what the tests of packages roster and roster/plan share: short
// names for members, rosters to start from, and a model that each command is compared to.
package partition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// formed returns a roster that is formed and has no members, with one backup.
func formed(t *testing.T, partitions int, window Tick) *Roster {
	t.Helper()
	form := Form{Grid: GridID{1}, Settings: Settings{Name: "g", Partitions: partitions, Backups: 1, Window: window}}
	r, err := new(Roster).Apply(Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustApply returns the roster after a change that must be accepted.
func mustApply(t *testing.T, r *Roster, c Change) *Roster {
	t.Helper()
	next, err := r.Apply(Command{From: r.Version, Change: &c})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// mustRaise returns the roster after a raise to now.
func mustRaise(t *testing.T, r *Roster, now Tick) *Roster {
	t.Helper()
	next, err := r.Apply(Command{From: r.Version, Raise: &Raise{Time: now}})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// incarnation turns the name a1 into aaaaaaaaaaaaaaaa-0000000000000001.
func incarnation(name string) Incarnation {
	return Incarnation(fmt.Sprintf("%s-%016s", strings.Repeat(name[:1], 16), name[1:]))
}

// incarnations turns each name into an incarnation.
func incarnations(names []string) []Incarnation {
	var out []Incarnation
	for _, name := range names {
		out = append(out, incarnation(name))
	}
	return out
}

// records returns a record for each name; the word "durable" marks the one before it.
func records(names []string) []Member {
	var out []Member
	for _, name := range names {
		if name == "durable" {
			out[len(out)-1].Durable = true
			continue
		}
		out = append(out, record(incarnation(name)))
	}
	return out
}

// record returns a member record with addresses on loopback.
func record(i Incarnation) Member {
	return Member{Incarnation: i, API: "127.0.0.1:7948", Raft: "127.0.0.1:7947", Gossip: "127.0.0.1:7946"}
}

// reversed returns a reversed copy.
func reversed[T any](s []T) []T {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}

// replicas turns 0c1 into partition 0 of c1.
func replicas(names ...string) []Replica {
	var out []Replica
	for _, name := range names {
		out = append(out, Replica{ID(name[0] - '0'), incarnation(name[1:])})
	}
	return out
}

// memberIDs returns the members of the named incarnations.
func memberIDs(names ...string) []MemberID {
	var out []MemberID
	for _, name := range names {
		out = append(out, incarnation(name).Member())
	}
	return out
}
