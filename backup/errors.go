package backup

import (
	"errors"
)

var (
	// ErrOldTerm means that a table is of a term before the newest one known.
	// Its sender has been replaced as owner.
	ErrOldTerm = errors.New("backup: table of an old term")

	// ErrGap means that changes do not follow what is held. Send the whole table.
	ErrGap = errors.New("backup: changes do not follow the table held")

	// ErrOwnTerm means that a table carries a term whose owner is the replica
	// that was to accept it. No other can have made one.
	ErrOwnTerm = errors.New("backup: table of the replica's own term")

	// ErrNotYet means that a replica has not learned of the loss after which its disk
	// is asked for. Ask again.
	ErrNotYet = errors.New("backup: the loss is not known here yet; ask again")
)
