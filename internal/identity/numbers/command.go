package numbers

import (
	"cmp"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Command is one step on a set. Exactly one part is set: Apply, Register, Clean, Import or Drop.
// Its conditions depend only on the set at the time it is applied. It therefore carries no version,
// and can be repeated: a lost reply costs no number.
type Command struct {
	Cluster  string        `json:"cluster"`
	Name     string        `json:"name"`
	Apply    *Application  `json:"apply,omitempty"`
	Register *Registration `json:"register,omitempty"`
	Clean    []Cleaned     `json:"clean,omitempty"`
	Import   *Imported     `json:"import,omitempty"`
	// Drop removes the set, which must have no numbers.
	Drop bool `json:"drop,omitempty"`
}

// Application requests a number. It is accepted for the set's next number, and for a number already
// given with the same code. Any other number is refused with a [*RefusedID].
type Application struct {
	ID   uint64 `json:"id"`
	Code Code   `json:"code,omitempty,omitzero"` // not zero, except in an import
	Addr string `json:"addr,omitempty"`
}

// Registration registers a process that has a number. If the process already has the incarnation
// (same Start), only the address changes. The error is [ErrNotRegistered] or [ErrFenced].
type Registration struct {
	ID     uint64 `json:"id"`
	Code   Code   `json:"code"`
	Addr   string `json:"addr,omitempty"`
	Start  Code   `json:"start"` // not zero
	Member string `json:"member,omitempty"`
	// Incarnation is the process's current incarnation, 0 for none. If it is earlier than the
	// registered one, the process is fenced. If it is later, the grid has lost registrations, and
	// the next incarnation is above it.
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// Cleaned is a number to remove. The number stays if its process has another incarnation by then.
type Cleaned struct {
	ID          uint64 `json:"id"`
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// Imported restores numbers that a grid lost with its data. Numbers that the set still has stay. If
// one has another code, the whole import is refused.
type Imported struct {
	Next uint64 `json:"next,omitempty"` // minimum for the next number; 0 if not stated
	// Incarnation is the greatest that the set gave before: the imported processes get later ones. 0 if not stated.
	Incarnation uint64        `json:"incarnation,omitempty"`
	Numbers     []Application `json:"numbers,omitempty"`
}

// Check returns an [ErrInvalid] for a malformed command.
func (c Command) Check() error { return invalidIf(c.fault()) }

// CheckNew returns an [ErrInvalid] for a command with a text that makes two entries look equal when
// printed: a new set's name, or a process's new address. The leader checks it before it proposes
// the command. [Registry.Apply] accepts texts that earlier releases accepted, and an import restores
// the grid's former texts. The grid's own name is always accepted.
func (c Command) CheckNew(r Registry, grid string) error {
	set, found := r.Set(c.Cluster, c.Name)
	for _, name := range [...]string{c.Cluster, c.Name} {
		if fault := spelling.Fault(name); fault != "" && !found && c.Apply != nil && name != grid {
			return invalidf("new set name %.80q %s: leave it out", name, fault)
		}
	}
	id, addr := uint64(0), ""
	switch {
	case c.Apply != nil:
		id, addr = c.Apply.ID, c.Apply.Addr
	case c.Register != nil:
		id, addr = c.Register.ID, c.Register.Addr
	}
	if p, _ := set.Process(id); p.Addr == addr {
		return nil
	}
	if fault := spelling.Fault(addr); fault != "" {
		return invalidf("address %.40q for number %d %s: leave it out", addr, id, fault)
	}
	return nil
}

// fault describes the error in a command, "" for none.
func (c Command) fault() string {
	parts := 0
	for _, set := range [...]bool{c.Apply != nil, c.Register != nil, len(c.Clean) > 0, c.Import != nil, c.Drop} {
		if set {
			parts++
		}
	}
	if fault := NameFault(c.Cluster, c.Name); fault != "" {
		return fault
	}
	switch {
	case parts != 1:
		return fmt.Sprintf("it has %d set steps, but must have one", parts)
	case c.Apply != nil && c.Apply.Code.IsZero() && numberFault(c.Apply.ID) == "":
		return fmt.Sprintf("number %d has no code; give 128 random bits as %d hex digits", c.Apply.ID, 2*len(c.Apply.Code))
	case c.Apply != nil:
		return c.Apply.fault()
	case c.Register != nil:
		g := c.Register
		if fault := numberFault(g.ID); fault != "" {
			return fault
		}
		return Process{Code: g.Code, Addr: g.Addr, Incarnation: max(1, g.Incarnation), Start: g.Start,
			Member: g.Member}.fault()
	case c.Import != nil && c.Import.Next > MaxNumber:
		return fmt.Sprintf("next number is %d, must be 1 to %d", c.Import.Next, uint64(MaxNumber))
	case c.Import != nil && c.Import.Incarnation >= MaxNumber:
		return fmt.Sprintf("incarnation is %d, must be 1 to %d", c.Import.Incarnation, uint64(MaxNumber)-1)
	case c.Import != nil:
		for _, a := range c.Import.Numbers {
			if fault := a.fault(); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// fault describes the error in an application, which may lack a code, "" for none.
func (a Application) fault() string {
	return cmp.Or(numberFault(a.ID), Process{Addr: a.Addr}.fault())
}

// CheckNumber returns an [ErrInvalid] for a number that no process can have.
func CheckNumber(id uint64) error { return invalidIf(numberFault(id)) }

// numberFault describes the error in a process's number, "" for none.
func numberFault(id uint64) string {
	if id < 1 || id >= MaxNumber {
		return fmt.Sprintf("number is %d, must be 1 to %d", id, uint64(MaxNumber)-1)
	}
	return ""
}
