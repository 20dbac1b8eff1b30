package roster

import "github.com/snowgrid/snowgrid/internal/visible"

// CheckNew returns an [ErrInvalid] for a step with a text that makes two entries look equal when
// printed: a new set's name, or a process's new address. The leader checks it before it proposes
// the step. [Roster.Apply] accepts texts that earlier releases accepted, and an import restores the
// grid's former texts.
func (c Identity) CheckNew(r *Roster) error {
	set, found := r.Set(c.Cluster, c.Name)
	for _, name := range [...]string{c.Cluster, c.Name} {
		if fault := visible.Fault(name); fault != "" && !found && c.Apply != nil && name != r.Settings.Name {
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
	if m, _ := set.Numbered(id); m.Addr == addr {
		return nil
	}
	if fault := visible.Fault(addr); fault != "" {
		return invalidf("address %.40q for number %d %s: leave it out", addr, id, fault)
	}
	return nil
}
