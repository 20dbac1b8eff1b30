// Package explore tries every order of events in a small grid, and shows that none of
// them gives one timestamp of a logical node to two attachments.
//
// It runs the real machines: roster.Roster with its commands, and for each process a
// partition.Machine with its replica and its table. It makes no decision of an owner, a
// replica or a leader. Around the machines is only their environment:
//
//   - the log gets any command that the roster takes, an admission or a naming of disks
//     only at the version of an owner's report; every member learns any later roster at
//     any time, or never, and its machine is shown the one that it has;
//   - whatever a machine sends stays deliverable: it is lost, late, repeated and
//     overtaken in every way;
//   - processes are killed and come back empty as another incarnation;
//   - holders attach, attach again, renew, show to a new owner what it does not know,
//     give back with any last timestamp, or are not heard for a window; lives end, others
//     begin, and the marks of ended ones are forgotten;
//   - an answer counts from the moment it leaves the owner, whether it arrives or not.
//
// A [Scope] bounds how much of each there is. The search is breadth first, so what
// it finds is found by a shortest way, which is told as a story, one line a step
// ([Legend] explains the words). The invariant is that no two attachments may ever
// use the same tick of the same node, and no two lives of the name the same tick of
// any.
//
// # States
//
// A machine is copied with everything it refers to before each input (copy.go), so its
// pending answers are values and no functions over it. Two machines are the same state if
// they behave the same from then on: the encoding (machine.go) counts clocks by the time left
// until something is due, and leaves out fields that no input of the scope reads. The outcome
// of an input depends on it and on the state of the process alone, so each pair runs once, and a state of the grid is a handful of numbers (lab.go).
//
// Safety does not depend on time, so the environment moves a process's clock only to make
// something due: past the wait for holders after a loss as soon as a replica becomes the owner,
// past the end of a destroy and the memory of detached attachments ([Scope.Requests]), or
// by a window without renewals. It answers each delivery before the next input with an
// empty reply: the machine sends its present table again, and the real replies come at any
// time later. That empty answer also counts as the answer to the
// question whether there is a later owner. So answers leave earlier than they may, and
// more can happen than in a grid.
//
// # Weakenings
//
// A checker that cannot fail shows nothing, so each rule is left out and has to lead to a
// duplicate. Rules of the log, of the network and of holders are left out here
// ([Weakness], TestMutants). Rules of the machines are lines of their source: command
// proof/mutants removes each and has TestMutantScopes search the scope of its name
// ([InMachine]). [Mutants] has all of them.
//
// # Definitions
//
// A second exploration ([SearchNames]) asks which processes and disks know a name, also
// after losses. It runs the same machines with the disks of durable members around them:
// a write lands in a step of its own, a process may end before it, and a disk that was
// asked for definitions is shown at any time later. In each term the newest delivery to
// each replica can be received, at any time. A request may wait without end, since
// an owner that gives it up says nothing of the name. Each answer about the name has to
// know every life that was answered before it was asked for, and each disk that the
// roster names has to know them at every moment. Two lives of the name count as different
// definitions even if they say the same. [NameMutants] has the rules that are left out,
// here or in the machines' source.
//
// # Records in a store
//
// A third exploration ([SearchRecords]) asks who may use which timestamps of which logical
// node if the records are in a store, with the rules and the holdings of package record.
// A swap that was sent stays deliverable until the record is another; its answer comes at
// any time or never; a read may find an outcome; requests are repeated. Clocks show any
// time, since they decide only who takes what when. The sequencer is destroyed and created
// again, also by a process that began long ago; an operator retires, restores and repairs; a
// record is lost. [SearchFailovers] does so for the quarantine of a store that may lose
// acknowledged writes: there time counts, servers are replaced one after the other, and one
// that was replaced still answers for a while. [RecordMutants] and [FailoverMutants] have the
// rules that are left out, with the length of the model's counterexample, which a search
// has to reach.
//
// Nonces and revisions are numbered as they occur in a state. An attachment whose requests
// can no longer land is the same as one that has lost its record: it may only use less.
//
// # Anchored grids
//
// A third exploration ([SearchAnchor]) has several grids of one name under one record of a
// store: started empty, from one another's data or from an old copy, with several leaders
// that may act on anything that was ever true, and swaps that land at any time later. It
// runs the real anchor.Authority of each leader and the real commands of roster.Roster; a
// state is a handful of small numbers, from which both are made for each step. The ticks that
// a grid may grant between two losses of all partitions are a segment, and no two segments
// may have a common tick. [AnchorMutants] has the rules that are left out.
//
// # Followers of rosters
//
// A fifth exploration ([SearchFollow]) has members that learn committed rosters from one another
// (package internal/roster/follow), with and without a log of their own. Everything that a member
// may send stays deliverable, in any order. Each served roster has to be the one that was
// committed at its position, and none goes back; each voter's own roster has to be that of
// the log; and no two owners may grant a tick. [FollowMutants] has the rules that are left
// out.
//
//	go test -C proof ./explore                                  # small scopes to their end, rules left out
//	go test -C proof ./explore -run Mutants -v                  # the stories
//	go test -C proof ./explore -run Large -long -long-for 2h    # large scopes, as far as time goes
//
// # Omissions
//
// An entry of the log is followed by a member that learns it, or by another entry: it
// makes no difference before. Messages that can have no effect are forgotten: those to
// dead processes, and those of a term that neither side believes in any longer. Pages of
// tables, other partitions and other names do not exist.
//
// A state is known by 128 bits of a hash ([Result] says how many there were). With
// 100 million states the odds that any two share one are below 10^-20.
package explore
