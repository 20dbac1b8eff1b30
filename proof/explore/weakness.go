package explore

// Weakness is one omitted protocol rule, to check that the explorer detects it.
type Weakness int

// The weaknesses, in the order of the table in protocol.md, followed by rules outside the table.
const (
	None      Weakness = iota
	InMachine          // none here: a line in a machine, by proof/mutants
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

	weaknesses // their number
)
