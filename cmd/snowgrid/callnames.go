package main

import (
	"strings"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// callNames are the members' names for narrow columns. A member whose name is unknown, or
// which another one has too, is called by its ID.
type callNames map[roster.Incarnation]string

// callNamesOf returns the names of the members of a grid.
func callNamesOf(members []grid.MemberInfo) callNames {
	count := map[string]int{}
	for _, m := range members {
		count[m.Name]++
	}
	names := callNames{}
	for _, m := range members {
		if count[m.Name] == 1 {
			names[m.Incarnation] = m.Name
		}
	}
	return names
}

// of returns the name of one member, "-" for none.
func (n callNames) of(inc roster.Incarnation) string { return called(n[inc], inc) }

// list returns the names of several members except one, "-" for none.
func (n callNames) list(members []roster.Incarnation, except roster.Incarnation) string {
	var out []string
	for _, inc := range members {
		if inc != except {
			out = append(out, n.of(inc))
		}
	}
	return orNone(strings.Join(out, " "))
}
