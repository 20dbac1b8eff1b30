package backup

import "errors"

var (
	// ErrOldTerm means that a table is of a term before the newest one known.
	// Its sender has been replaced as owner.
	ErrOldTerm = errors.New("backup: table of an old term")

	// ErrOldPosition means that the replica holds this table or a later one.
	ErrOldPosition = errors.New("backup: table is not ahead of the one held")

	// ErrOwnTerm means that a table carries a term whose owner is the replica
	// that was to accept it. No other can have made one.
	ErrOwnTerm = errors.New("backup: table of the replica's own term")
)
