package explore

// Weakness is one rule of the protocol left out, so that the explorer can be seen
// to notice.
type Weakness int

// The weaknesses, in the order of the table in protocol.md, and behind them those
// of the rules that the table does not have.
const (
	None Weakness = iota
	AnyCeiling
	NoFloorAtTakeover
	NoFloorAtLoss
	AssignedNotRaised
	OldFloor
	UncommittedCeiling
	NoAcknowledgements
	OneBackupIsEnough
	OwnerDropsBackup
	RepeatedAttachAtOnce
	InheritedAtOnce
	ChangesOnOlderTerm
	OlderTermAccepted
	OlderNumberAccepted
	JoinerNotNeeded
	JoinerAdmittedEarly
	AdmissionRebased
	OwnerOutsideSync
	LossKnownToOneOwner
	LossForgotten
	OwnerByName
	RestartUnderOldName
	FreeMayFall
	FromIgnoresFree
	DetachBelowFrom
	AdoptionNotReplicated
	AdoptionFillsGap
	AdoptionIgnoresFree
	AttachmentReused
	LateAnswerAccepted
	RecreatedAtZero

	LaterLifeAtZero
	AnotherNodeRenewed
	PrintWithoutStart
	SetNotCounted
	MarkOfAttachedOnly
	FoldForgetsMark
	StopWhileAttached
	StopNotCleared
	StopStillGrants
	FloorOfEarlierLoss

	weaknesses // how many there are
)
