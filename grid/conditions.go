package grid

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// Condition is one of the conditions under which a member is ready.
type Condition struct {
	Name string
	Met  bool
	// Reason is the reason that the condition is unmet; "" if it is met, or was skipped after an
	// earlier unmet one.
	Reason string
}

// Conditions returns this member's readiness conditions, in the order in which they become true at
// a start. The member is ready if all are met; see [Member.Ready]. GET /readyz?verbose lists them.
func (m *Member) Conditions() []Condition {
	conditions := m.health.conditions()
	out := make([]Condition, len(conditions))
	for i, c := range conditions {
		out[i] = Condition(c)
	}
	return out
}

type condition struct {
	name  string
	unmet func() error // nil if it is met
}

// unless returns nil if a condition is met, else an error.
func unless(met bool, format string, args ...any) error {
	if met {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// firstUnmet returns the first unmet condition's reason, nil if all are.
func firstUnmet(conditions []condition) error {
	for _, c := range conditions {
		if err := c.unmet(); err != nil {
			return err
		}
	}
	return nil
}

// conditions returns the readiness conditions. A member that does not serve yet gives the first
// reason alone: the conditions after it follow from that one.
func (h *health) conditions() []wire.Condition {
	var out []wire.Condition
	serves := true
	for _, c := range h.serving() {
		out = append(out, lookAt(c, serves))
		serves = serves && out[len(out)-1].Met
	}
	for _, c := range append(h.standing().conditions(), condition{"number", h.notRegistered},
		condition{"staying", h.notStaying}) {
		out = append(out, lookAt(c, serves))
	}
	return out
}

func lookAt(c condition, sensible bool) wire.Condition {
	if !sensible {
		return wire.Condition{Name: c.name}
	}
	if err := c.unmet(); err != nil {
		return wire.Condition{Name: c.name, Reason: err.Error()}
	}
	return wire.Condition{Name: c.name, Met: true}
}
