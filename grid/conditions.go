package grid

import "github.com/snowgrid/snowgrid/internal/wire"

// Condition is one readiness condition.
type Condition = wire.Condition

// Conditions returns this member's readiness conditions, in the order in which they become true at
// a start. The member is ready if all are met; see [Member.Ready]. GET /readyz?verbose lists them.
func (m *Member) Conditions() []Condition { return m.health.conditions() }

// condition is one readiness condition.
type condition struct {
	name  string
	unmet func() error // nil if it is met
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
func (h *health) conditions() []Condition {
	var out []Condition
	serves := true
	for _, c := range h.serving() {
		out = append(out, lookAt(c, serves))
		serves = serves && out[len(out)-1].Met
	}
	for _, c := range append(h.standing().conditions(), condition{"number", h.notRegistered}) {
		out = append(out, lookAt(c, serves))
	}
	return out
}

// lookAt looks at a condition if it makes sense.
func lookAt(c condition, sensible bool) Condition {
	if !sensible {
		return Condition{Name: c.name}
	}
	if err := c.unmet(); err != nil {
		return Condition{Name: c.name, Reason: err.Error()}
	}
	return Condition{Name: c.name, Met: true}
}
