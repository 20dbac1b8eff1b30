package backup

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Update is an owner's message to another replica: the whole table, or the changes that follow a
// number in the same term. With neither it only requests the replica's position.
type Update[S, C any] struct {
	Version  roster.Version // at which the owner acts
	Position Position       // after the update
	Whole    *S             // the table, or nil
	Since    uint64         // the number that Changes follow
	Changes  []C
	// Keep means that the update has only definitions, for a member that keeps them in memory and
	// may be no replica. They do not become its table.
	Keep bool
}

// Update returns the update by which a replica reaches the owner's position, as far as the owner
// has its reports, and false if it needs none. A joining replica gets one again at each version
// (R5).
func (r *Replica[S, C]) Update(to roster.Incarnation) (Update[S, C], bool) {
	u := Update[S, C]{Version: r.version, Position: r.position}
	p, said := r.peers[to]
	switch {
	case !r.Acts():
		return u, false
	case said && p.number == r.position.Number && (to != r.entry.Joining || p.at == r.version):
		return u, false
	case said && r.position.Number-p.number <= uint64(len(r.changes)):
		u.Since = p.number
		u.Changes = r.changes[len(r.changes)-int(r.position.Number-p.number):]
	default:
		u.Whole = new(r.machine.Snapshot())
	}
	return u, true
}

// Behind records that a replica lacks the expected position, so that the next update is a
// whole table.
func (r *Replica[S, C]) Behind(i roster.Incarnation) { delete(r.peers, i) }

// Accept applies an update from another owner (B1), and returns the replica's position afterwards,
// on which the sender may rely if the error is nil. It rejects a term older than the newest
// observed one with [ErrOldTerm], changes that do not follow the replica's table with [ErrGap], and
// a term that this process itself owns with [ErrOwnTerm]. An update that the replica already has is
// not an error. A later term ends the replica's own term, even if the update is rejected.
func (r *Replica[S, C]) Accept(u Update[S, C]) (Position, error) {
	r.Heard(u.Position.Term)
	if err := r.acceptable(u); err != nil {
		return r.position, fmt.Errorf("%w: update %v, table %v, newest term %d", err, u.Position, r.position, r.newest)
	}
	r.shown = max(r.shown, u.Version)
	if u.Position.Compare(r.position) <= 0 {
		return r.position, nil
	}
	if u.Whole != nil {
		r.machine.Restore(*u.Whole)
	} else {
		for _, c := range u.Changes[r.position.Number-u.Since:] {
			r.machine.Apply(c)
		}
	}
	r.position = u.Position
	return r.position, nil
}

// A number of changes is bounded so that a table which no owner made cannot use the
// numbers up: an owner makes a few thousand changes a second, and a replica that needs
// its table is never further behind than leadMax.
const (
	numberMax = 1 << 62
	leadMax   = 1 << 32
)

// receivable rejects a position that no owner of a later table can have sent; has is the current
// table's position.
func (r *Replica[S, C]) receivable(p, has Position) error {
	switch {
	case p.Number > numberMax, p.Term == has.Term && p.Number > has.Number && p.Number-has.Number > leadMax:
		return ErrNumber
	case p.Term == 0 || p.Term < r.newest:
		return ErrOldTerm
	case r.entry.Owner == r.self && r.entry.Term == p.Term:
		return ErrOwnTerm
	}
	return nil
}

func (r *Replica[S, C]) acceptable(u Update[S, C]) error {
	p := u.Position
	err := r.receivable(p, r.position)
	switch {
	case err != nil:
		return err
	case u.Whole != nil:
		return nil
	case r.position.Term != p.Term || r.position.Number < u.Since, u.Since+uint64(len(u.Changes)) != p.Number:
		return ErrGap
	}
	return nil
}

// Keep records that this process stores the definitions in an update from another owner, and
// reports whether they are newer than its own. It returns the same errors as [Replica.Accept].
func (r *Replica[S, C]) Keep(u Update[S, C]) (fresh bool, err error) {
	r.Heard(u.Position.Term)
	p := u.Position
	err = r.receivable(p, r.stored)
	switch {
	case err != nil:
	case p.Compare(r.stored) <= 0:
		return false, nil
	case u.Whole == nil && (r.stored.Term != p.Term || r.stored.Number < u.Since):
		err = ErrGap
	}
	if err != nil {
		return false, fmt.Errorf("%w: definitions %v, stored %v, newest term %d", err, p, r.stored, r.newest)
	}
	r.stored = p
	return true, nil
}
