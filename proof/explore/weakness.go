package explore

// Weakness is one rule of the protocol left out, so that the explorer can be seen
// to notice.
type Weakness int

// The weaknesses, in the order of the table in protocol.md, and behind them those
// of the rules that the table does not have.
const (
	None      Weakness = iota
	InMachine          // none here: a line of a machine, by proof/mutants
	AnyCeiling
	NoFloorAtTakeover
	NoFloorAtLoss
	OldFloor
	UncommittedCeiling
	JoinerAdmittedEarly
	AdmissionRebased
	OwnerOutsideSync
	RestartUnderOldName
	AttachmentReused
	LateAnswerAccepted

	StopNotCleared
	StopStillGrants

	weaknesses // how many there are
)
