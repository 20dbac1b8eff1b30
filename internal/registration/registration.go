// Package registration decides how a process gets a number in a set, which it keeps across
// restarts: 1 for the first process in the set, 2 for the next one, and so on. The grid allocates a
// number to an application with a random code. The process stores the application before it sends
// the request, so that neither a crash nor a lost answer uses up a number.
//
//	INITIAL    --next--> n --write temp-->  TEMP_DONE
//	TEMP_DONE  --apply: accepted--> write final --> META_DONE
//	           --apply: refused--> remove temp --> INITIAL
//	           --apply: no answer--> TEMP_DONE, the same application again
//	META_DONE  --remove temp, register--> REGISTERED
//	REGISTERED --sign of life--> REGISTERED
//	           --not registered--> META_DONE
//	           --fenced--> the end: a later process has the number
//
// A [Machine] has no clock, file or socket: it returns the next [Step], and takes its result.
package registration

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// State is the progress of a registration.
type State int

// The states. A restarted process begins in the state that its files determine.
const (
	Initial    State = iota // nothing is stored
	TempDone                // an application is stored, and may have been accepted
	MetaDone                // the number is stored
	Registered              // the grid has recorded this process as the number's holder
)

// String returns the state's name as displayed in a status.
func (s State) String() string {
	names := [...]string{"INITIAL", "TEMP_DONE", "META_DONE", "REGISTERED"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return names[s]
}

// MarshalText returns the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Files are the registration's files as found at the start; nil if a file does not exist.
type Files struct {
	Temp  *Number // the application
	Final *Number
}

// Set returns the number's set: the configured one. Without a configured cluster, the files
// determine the cluster, or else the grid's name.
func (f Files) Set(configured Set, grid string) Set {
	for _, have := range []*Number{f.Final, f.Temp} {
		if have != nil {
			configured.Cluster = cmp.Or(configured.Cluster, have.Cluster)
		}
	}
	configured.Cluster = cmp.Or(configured.Cluster, grid)
	return configured
}

// Config has the facts that a machine does not learn from files and answers.
type Config struct {
	Set     Set
	NewCode func() roster.Code                      // returns 128 random bits
	Rand    func(below time.Duration) time.Duration // returns a random span from 0 to below it
}

// Pauses after a failure. The first ones are random, so that processes that start together
// do not apply together again.
const (
	Jitter     = time.Second // limit for a random pause
	JitterMax  = 5           // failures in succession with a random pause
	RetryAfter = 5 * time.Second
)

// Action is the kind of a step.
type Action int

// The actions, in first-start order.
const (
	Wait       Action = iota // nothing to do until Step.At
	AskNext                  // request the next number in the set
	WriteTemp                // store the application, durably
	Apply                    // request its number
	WriteFinal               // store the number in the final file, durably and atomically
	RemoveTemp               // remove the application
	Register                 // request an incarnation for the number, or send a sign of life for the current one
	Idle                     // nothing to do any longer
)

// String returns a verb for logs.
func (a Action) String() string {
	return [...]string{"wait", "ask for the next number", "write the application", "apply", "write the number",
		"remove the application", "register", "idle"}[a]
}

// Step is the machine's next task. Its result goes to [Machine.Done].
type Step struct {
	Action      Action
	Number      Number        // to be stored, applied for or registered
	Incarnation uint64        // for Register: the current one, 0 for none
	At          time.Duration // for Wait
}

// Result is the outcome of a step.
type Result struct {
	Next        uint64        // the answer to AskNext
	Incarnation uint64        // the answer to Register
	Again       time.Duration // the answer to Register: when to send the next sign of life; 0 = never
	Err         error         // nil if the step was done
	Refusal     Refusal       // the meaning of Err
}

// Refusal is an explicit answer that a request was not done. Any other error leaves open
// whether it was.
type Refusal int

// The refusals.
const (
	None    Refusal = iota // no answer, or another error
	Taken                  // for Apply: the number is not, or no longer, the next one
	Unknown                // for Register: the grid has no record of the number with this code
	Fenced                 // for Register: a later process has registered with the number
)

// Machine is one process's registration. It is not safe for concurrent use.
type Machine struct {
	cfg   Config
	state State
	// number is the one applied for, from TempDone on the stored one. In Initial it is
	// zero until an answer has named the next one.
	number      Number
	hasTemp     bool // the application is, or may be, in its file
	accepted    bool // in TempDone: only the final file is missing
	refused     bool // in TempDone: the application has to go
	incarnation uint64
	fenced      bool

	failures int           // consecutive failed steps
	next     time.Duration // no step before
	err      error         // the last failure, nil after a success
}

// New returns a machine for a process with these files. The final file takes precedence over an
// application.
//
// Errors: an [*OtherSetError] if a file belongs to another cluster or set than the configured one;
// in this case nothing may be written.
func New(cfg Config, files Files) (*Machine, error) {
	m := &Machine{cfg: cfg, hasTemp: files.Temp != nil}
	for _, have := range []*Number{files.Final, files.Temp} {
		if have != nil && have.Of() != cfg.Set {
			return nil, &OtherSetError{File: have.Of(), Configured: cfg.Set}
		}
	}
	switch {
	case files.Final != nil:
		m.state, m.number = MetaDone, *files.Final
	case files.Temp != nil:
		m.state, m.number = TempDone, *files.Temp
	}
	return m, nil
}

// Step returns the action for a time on the process's monotonic clock: the same until Done applies
// its result.
func (m *Machine) Step(now time.Duration) Step {
	if now < m.next {
		return Step{Action: Wait, At: m.next}
	}
	return Step{Action: m.action(), Number: m.number, Incarnation: m.Incarnation()}
}

// action returns the next action.
func (m *Machine) action() Action {
	switch {
	case m.fenced:
		return Idle
	case m.state == Initial && m.number.ID == 0:
		return AskNext
	case m.state == Initial:
		return WriteTemp
	case m.state == TempDone && m.refused:
		return RemoveTemp
	case m.state == TempDone && m.accepted:
		return WriteFinal
	case m.state == TempDone:
		return Apply
	case m.hasTemp:
		return RemoveTemp
	}
	return Register
}

// Done applies the result of the step that [Machine.Step] returned.
func (m *Machine) Done(now time.Duration, r Result) {
	if m.fenced {
		return
	}
	action := m.action()
	if r.Err == nil && action == AskNext && r.Next == 0 {
		r.Err = fmt.Errorf("registration: the grid answered 0 as the next number of set %q; numbers begin at 1",
			m.cfg.Set.Name)
	}
	switch {
	case r.Err != nil && action == Apply && r.Refusal == Taken:
		m.refused = true
		m.failed(now, r.Err)
		m.next = now // the file is removed first, and then the pause begins
	case r.Err != nil && action == Register && r.Refusal == Fenced:
		m.fenced, m.err = true, r.Err
	case r.Err != nil && action == Register && r.Refusal == Unknown:
		m.state, m.incarnation = MetaDone, 0
		m.failed(now, r.Err)
	case r.Err != nil:
		m.failed(now, r.Err)
	default:
		m.succeeded(now, action, r)
	}
}

// succeeded takes in a step that was done.
func (m *Machine) succeeded(now time.Duration, action Action, r Result) {
	switch action {
	case AskNext:
		m.number = Number{Cluster: m.cfg.Set.Cluster, Set: m.cfg.Set.Name, ID: r.Next, Code: m.cfg.NewCode()}
		return // failures stays: only an application proves whether it helped
	case WriteTemp:
		m.state, m.hasTemp = TempDone, true
		return
	case Apply:
		m.accepted = true
	case WriteFinal:
		m.state, m.accepted = MetaDone, false
	case RemoveTemp:
		m.hasTemp = false
		if m.refused {
			m.refused, m.state, m.number = false, Initial, Number{}
			m.next = now + m.pause()
			return
		}
	case Register:
		m.state, m.incarnation = Registered, r.Incarnation
		m.next = now + r.Again
		if r.Again == 0 {
			m.next = math.MaxInt64
		}
	}
	m.failures, m.err = 0, nil
}

// failed counts a failure.
func (m *Machine) failed(now time.Duration, err error) {
	m.failures++
	m.err = err
	m.next = now + m.pause()
}

// pause returns the pause after the newest failure.
func (m *Machine) pause() time.Duration {
	if m.failures <= JitterMax {
		return m.cfg.Rand(Jitter)
	}
	return RetryAfter
}

// Fence records that an owner rejected this process's request because a later process has
// registered with the number. Idle is the only action from then on.
func (m *Machine) Fence(err error) { m.fenced, m.err = true, err }

// Fenced reports whether a later process has registered with the number.
func (m *Machine) Fenced() bool { return m.fenced }

// Ask makes the process send its incarnation immediately, after an owner had no record of the
// number: the reply decides whether the grid has one.
func (m *Machine) Ask(now time.Duration) {
	if m.state == Registered && m.failures == 0 {
		m.next = min(m.next, now)
	}
}

// State returns the state.
func (m *Machine) State() State { return m.state }

// Number returns the number that is stored in the final file, zero before that.
func (m *Machine) Number() Number {
	if m.state < MetaDone {
		return Number{}
	}
	return m.number
}

// Incarnation returns the incarnation that the grid gave to this process, 0 before it is
// Registered.
func (m *Machine) Incarnation() uint64 {
	if m.state != Registered {
		return 0
	}
	return m.incarnation
}

// Err returns the last step's error, nil if it succeeded.
func (m *Machine) Err() error { return m.err }
