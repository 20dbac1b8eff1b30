package explore

// GeneratorWeakness is one omitted rule of docs/grants.md.
type GeneratorWeakness int

// The weaknesses. They change the inputs of the real machine, or its fields afterwards.
const (
	GeneratorsNone     GeneratorWeakness = iota
	GrantEndUsed                         // G1: an ID at until
	LayoutEndIgnored                     // G1: an ID at ends
	CounterTooMany                       // G1: a counter equal to counters
	TimeSinceSent                        // G2: time since the request was sent
	NewestTimeOnly                       // G2: the newest reply's time alone
	BelowLast                            // G3: a timestamp below the last ID's
	UsedBeforeFrom                       // G3: a timestamp below from
	AheadOfTime                          // G3: a timestamp above the grid's time
	CounterAgain                         // G4: a counter used twice
	OtherNodeExtends                     // G5: a reply about another node extends the grant
	ReplyShortens                        // G5: a reply shortens the grant
	OtherNodeSameTick                    // G6: another node continues in the last ID's timestamp
	FormerGrantDropped                   // G6: another node replaces the former grant
	GapUsed                              // G7
	RequestsAtOnce                       // G8: several requests, and all their replies count
	LateReplyCounts                      // G8: the reply to a failed request counts
	ForkKeepsGrant                       // G9
	ReleasedUsed                         // G10: IDs after the release
	ReplyRevives                         // G10: a reply after the release counts
	LastOmitted                          // G10: a release states that no ID was made
	DetachedIgnored                      // G10: the error detached is waited for
	DestroyedIgnored                     // G12: the error destroyed is waited for

	generatorWeaknesses // their number
)

// revives reports whether an ended machine makes IDs again.
func (w GeneratorWeakness) revives() bool { return w == ReplyRevives || w == ReleasedUsed }

// countsLate reports whether replies to other requests than the last one count.
func (w GeneratorWeakness) countsLate() bool { return w == RequestsAtOnce || w == LateReplyCounts }
