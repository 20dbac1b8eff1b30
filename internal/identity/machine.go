package identity

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// A registration has these states, and takes these steps:
//
//	Initial    --next--> n --store the application--> Applying
//	Applying   --apply: accepted--> store the number --> Numbered
//	           --apply: refused--> remove the application --> Initial
//	           --apply: no answer--> Applying, the same application again
//	Numbered   --remove the application, register--> Registered
//	Registered --sign of life--> Registered
//	           --not registered--> Numbered
//	           --fenced--> the end: a later process has the number
//
// A restarted process begins in the state that its files determine.

// State is the progress of a registration, as displayed in a status.
type State string

// The states, by the names that operators of earlier systems have for them.
const (
	Initial    State = "INITIAL"    // nothing is stored
	Applying   State = "TEMP_DONE"  // an application is stored, and may have been accepted
	Numbered   State = "META_DONE"  // the number is stored
	Registered State = "REGISTERED" // the grid has recorded this process as the number's holder
)

// Pauses after a failure. The first ones are random, so that processes that start together
// do not apply together again.
const (
	jitter     = time.Second // limit for a random pause
	jitterMax  = 5           // failures in succession with a random pause
	retryAfter = 5 * time.Second
)

// action is the kind of a step, as displayed in logs.
type action string

// The actions, in first-start order.
const (
	wait              action = "wait" // nothing to do until step.at
	askNext           action = "ask for the next number"
	storeApplication  action = "store the application"
	apply             action = "apply" // request its number
	storeNumber       action = "store the number"
	removeApplication action = "remove the application"
	register          action = "register" // request an incarnation, or send a sign of life with the current one
	idle              action = "idle"     // nothing to do any longer
)

// step is a machine's next task. Its result goes to [machine.done].
type step struct {
	action      action
	number      Number        // to be stored, applied for or registered
	incarnation uint64        // for register: the current one, 0 for none
	at          time.Duration // for wait
}

// result is the outcome of a step. The error is an explicit refusal only as far as package numbers has
// one; any other error leaves open whether the request was done.
type result struct {
	next        uint64        // the answer to askNext
	incarnation uint64        // the answer to register
	again       time.Duration // the answer to register: when to send the next sign of life; 0 = never
	err         error         // nil if the step was done
}

// unknownNumber reports whether the grid has no record of the number with its code.
func unknownNumber(err error) bool {
	return errors.Is(err, numbers.ErrNotRegistered) || errors.Is(err, numbers.ErrUnknownSet)
}

// machine decides one process's registration. It has no clock, file or socket: it returns the next
// step, and takes its result.
type machine struct {
	set     Set
	newCode func() numbers.Code                     // returns 128 random bits
	rand    func(below time.Duration) time.Duration // returns a random span from 0 to below it

	state State
	// number is the one applied for, from Applying on the stored one. In Initial it is
	// zero until an answer has named the next one.
	number      Number
	stored      bool   // the application is, or may be, in its file
	accepted    bool   // in Applying: only the number's file is missing
	refused     bool   // in Applying: the application has to go
	incarnation uint64 // this process's, 0 unless Registered
	fenced      bool

	failures int           // consecutive failed steps
	next     time.Duration // no step before
	err      error         // the last failure, nil after a success
}

func (m *machine) begin(files Files) {
	m.state, m.stored = Initial, files.Application != nil
	switch {
	case files.Number != nil:
		m.state, m.number = Numbered, *files.Number
	case files.Application != nil:
		m.state, m.number = Applying, *files.Application
	}
}

// step returns the action for a time on the process's monotonic clock: the same until done applies
// its result.
func (m *machine) step(now time.Duration) step {
	if now < m.next {
		return step{action: wait, at: m.next}
	}
	return step{action: m.action(), number: m.number, incarnation: m.incarnation}
}

func (m *machine) action() action {
	switch {
	case m.fenced:
		return idle
	case m.state == Initial && m.number.ID == 0:
		return askNext
	case m.state == Initial:
		return storeApplication
	case m.state == Applying && m.refused:
		return removeApplication
	case m.state == Applying && m.accepted:
		return storeNumber
	case m.state == Applying:
		return apply
	case m.stored:
		return removeApplication
	}
	return register
}

// done applies the result of the step that [machine.step] returned.
func (m *machine) done(now time.Duration, r result) {
	if m.fenced {
		return
	}
	a := m.action()
	if r.err == nil && a == askNext && r.next == 0 {
		r.err = fmt.Errorf("registration: the grid answered 0 as the next number of set %q; numbers begin at 1",
			m.set.Name)
	}
	switch {
	case r.err == nil:
		m.succeeded(now, a, r)
	case a == apply && errors.Is(r.err, numbers.ErrIDRefused):
		m.refused = true
		m.failed(now, r.err)
		m.next = now // the file is removed first, and then the pause begins
	case a == register && errors.Is(r.err, numbers.ErrFenced):
		m.fence(r.err)
	case a == register && unknownNumber(r.err):
		m.state, m.incarnation = Numbered, 0
		m.failed(now, r.err)
	default:
		m.failed(now, r.err)
	}
}

// succeeded applies the result of a step that was done.
func (m *machine) succeeded(now time.Duration, a action, r result) {
	switch a {
	case askNext:
		m.number = Number{Cluster: m.set.Cluster, Set: m.set.Name, ID: r.next, Code: m.newCode()}
		return // failures stays: only an application proves whether it helped
	case storeApplication:
		m.state, m.stored = Applying, true
		return
	case apply:
		m.accepted = true
	case storeNumber:
		m.state, m.accepted = Numbered, false
	case removeApplication:
		m.stored = false
		if m.refused {
			m.refused, m.state, m.number = false, Initial, Number{}
			m.next = now + m.pause()
			return
		}
	case register:
		m.state, m.incarnation = Registered, r.incarnation
		m.next = now + r.again
		if r.again == 0 {
			m.next = math.MaxInt64
		}
	}
	m.failures, m.err = 0, nil
}

func (m *machine) failed(now time.Duration, err error) {
	m.failures++
	m.err = err
	m.next = now + m.pause()
}

// pause returns the pause after the newest failure.
func (m *machine) pause() time.Duration {
	if m.failures <= jitterMax {
		return m.rand(jitter)
	}
	return retryAfter
}

// fence records that a later process has registered with the number: an owner or the leader rejected
// this process. idle is the only action from then on.
func (m *machine) fence(err error) { m.fenced, m.err = true, err }

// ask makes the process send its incarnation immediately, after an owner had no record of the
// number: the reply decides whether the grid has one.
func (m *machine) ask(now time.Duration) {
	if m.state == Registered && m.failures == 0 {
		m.next = min(m.next, now)
	}
}

// storedNumber returns the ID of the number that is stored, 0 before that.
func (m *machine) storedNumber() uint64 {
	if m.state == Initial || m.state == Applying {
		return 0
	}
	return m.number.ID
}
