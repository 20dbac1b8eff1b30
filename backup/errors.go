package backup

import "errors"

var (
	// ErrOldTerm means that a table has an earlier term than the newest observed one. Its sender
	// has been replaced as the owner.
	ErrOldTerm = errors.New("backup: table of an old term")

	// ErrGap means that changes do not follow the replica's table. Send the whole table.
	ErrGap = errors.New("backup: changes do not follow the replica's table")

	// ErrOwnTerm means that a table has a term that this replica itself owns. No other process can
	// have made it.
	ErrOwnTerm = errors.New("backup: table of the replica's own term")

	// ErrNumber reports that a table's number is further ahead than any owner comes.
	ErrNumber = errors.New("backup: table number out of reach")

	// ErrNotYet means that this replica's roster does not have the loss for which its disk is read.
	// Retry.
	ErrNotYet = errors.New("backup: the loss has not been observed here yet; retry")
)
