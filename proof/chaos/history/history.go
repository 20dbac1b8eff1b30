// Package history records the operations of a process under test: calls with the times of
// call and return and the outcome, and every ID. It is a file that a killed process leaves
// readable.
//
// IDs are kept as runs of consecutive ones, and all numbers as differences, so a
// batch of hundreds of IDs takes some twenty bytes. Every record goes to the file
// with one write before the process acts on it.
package history

import (
	"errors"
	"time"
)

// Kind is the kind of an operation.
type Kind byte

// The kinds of operations.
const (
	Create  Kind = iota + 1 // get or create a name, which also attaches
	Open                    // get a name that exists
	Attach                  // take a logical node
	Detach                  // give it back
	Destroy                 // end the life that the handle is of
	Fill                    // take IDs
	Final                   // take IDs after the last fault is over
)

// String returns the kind's name.
func (k Kind) String() string {
	names := [...]string{"", "create", "open", "attach", "detach", "destroy", "fill", "final"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown kind"
}

// Outcome is the result that the caller got.
type Outcome byte

// The outcomes of an operation.
const (
	OK        Outcome = iota + 1
	Unknown           // no answer in time, or an error that leaves it open
	NotFound          // the name does not exist
	Destroyed         // the handle's life had ended
	Refused           // the handle itself refused; the grid was not asked
	HalfDone          // Create: the name was there, its logical node was not got
	Orphaned          // Create: the name was there, its life had ended before the attach
)

// String returns the outcome's name.
func (o Outcome) String() string {
	names := [...]string{"no answer", "ok", "unknown", "not found", "destroyed", "refused", "half done", "orphaned"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown outcome"
}

// Run is a row of consecutive IDs.
type Run struct {
	First int64
	Count int64
}

// Last is the run's last ID.
func (r Run) Last() int64 { return r.First + r.Count - 1 }

// Op is an operation of one handle.
type Op struct {
	Kind    Kind
	Name    string
	Handle  int // numbers the handles of the process; a name has one at a time
	Call    time.Duration
	Return  time.Duration // 0 if the process ended before
	Outcome Outcome       // 0 if the process ended before
	Node    int           // logical node after Create, Attach; -1 if none
	Runs    []Run         // what Fill and Final returned, in that order
}

// errFormat is the error for a file that is not a history.
var errFormat = errors.New("history: the file is damaged")
