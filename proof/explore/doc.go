// Package explore tries every order of events in a small grid, and checks that no order gives one
// timestamp in a logical node to two attachments.
//
// It runs the real machines: roster.Roster with its commands, and for each process a
// partition.Machine with its replica and its table. It makes no decision for an owner, a replica or
// a leader. It only simulates the machines' environment:
//
//   - The log accepts any command that the roster accepts, but an admission or a naming of disks
//     only at the version in the owner's report. A member receives any later roster at any time, or
//     never, and passes its current roster to its machine.
//   - Everything that a machine sends stays deliverable: it may be lost, delayed, repeated and
//     reordered.
//   - Processes are killed and return empty, as another incarnation.
//   - Holders attach, attach again, renew, present to a new owner what it lacks, return with any
//     last timestamp, or stay silent for a window. Lives end, others begin, and the tombstones of
//     ended lives are removed.
//   - A reply counts from the moment it leaves the owner, whether it arrives or not.
//
// A [Scope] bounds the number of each event. The search is breadth first, so it finds a shortest
// path, which it prints as a story, one line per step ([Legend] explains the terms). The invariant:
// no two attachments may ever use the same tick in the same node, and no two lives of the name the
// same tick in any node.
//
// # States
//
// A machine is copied with everything it refers to before each input (copy.go), so its pending
// replies are values instead of closures over it. Two machines are the same state if they behave
// the same from then on: the encoding (machine.go) stores clocks as the time left until something
// is due, and omits fields that no input in the scope reads. An input's outcome depends only on the
// input and the process's state, so each pair runs once, and a grid's state is a handful of numbers
// (lab.go).
//
// Safety does not depend on time, so the environment moves a process's clock only to make something
// due: past the wait for holders after a loss as soon as a replica becomes the owner, past the end
// of a destroy and the record of detached attachments ([Scope.Requests]), or by a window without
// renewals. It answers each delivery before the next input with an empty reply: the machine sends
// its current table again, and the real replies arrive at any later time. The empty reply also
// answers the question whether there is a later owner. Replies therefore leave earlier than they
// may, and more can happen than in a grid.
//
// # Weakenings
//
// A checker that cannot fail proves nothing, so each rule is omitted once and must lead to a
// duplicate. Rules for the log, the network and holders are omitted here ([Weakness], TestMutants).
// Rules in the machines are source lines: command proof/mutants removes each and runs
// TestMutantScopes on the scope with its name ([InMachine]). [Mutants] lists all of them.
//
// # Definitions
//
// A second exploration ([SearchNames]) checks which processes and disks have a name, also after
// losses. It runs the same machines together with durable members' disks: a write completes in its
// own step, a process may end before it, and a requested disk is presented at any later time. In
// each term the newest delivery to each replica can be received, at any time. A request may wait
// indefinitely, since an owner that gives up makes no statement about the name. Each reply about
// the name must include every life acknowledged before the request, and each disk named in the
// roster must have them at every moment. Two lives of the name count as different definitions even
// if their contents are equal. [NameMutants] lists the rules that are omitted, here or in the
// machines' source.
//
// # Records in a store
//
// A third exploration ([SearchRecords]) checks which attachments may use which timestamps in which
// logical node if the records are in a store, with package record's rules and holdings. A swap
// stays deliverable until the record changes; its reply arrives at any time or never; a read may
// determine an outcome; requests are repeated. Clocks have any value, since they only decide which
// attachment takes which record when. The sequencer is destroyed and created again, also by a
// process that began long ago; an operator retires, restores and repairs; a record is lost.
// [SearchFailovers] does the same for the quarantine in a store that may lose acknowledged writes.
// There time counts, servers are replaced one after another, and a replaced server still replies
// for a while. [RecordMutants] and [FailoverMutants] list the rules that are omitted, with the
// length of the model's counterexample, which a search has to reach.
//
// Nonces and revisions are numbered by occurrence in a state. An attachment with no request that
// can still be applied equals one that has lost its record: it may only use less.
//
// # Anchored grids
//
// A fourth exploration ([SearchAnchor]) has several grids with one name under one record in a
// store: started empty, from another grid's data or from an old copy, with several leaders that may
// act on anything that was ever true, and swaps that are applied at any later time. It runs each
// leader's real anchor.Authority and the real roster.Roster commands; a state is a handful of small
// numbers, from which each step builds both. A segment is the range of ticks that a grid may grant
// between two losses of all partitions, and no two segments may have a common tick. [AnchorMutants]
// lists the rules that are omitted.
//
// # Followers of rosters
//
// A fifth exploration ([SearchFollow]) has members that receive committed rosters from one another
// (package internal/roster/follow), with and without their own log. Everything that a member may
// send stays deliverable, in any order. Each served roster must be the committed one at its
// position, and must never go back; each voter's own roster must equal the log's; and no two owners
// may grant a tick. [FollowMutants] lists the rules that are omitted.
//
// # Generators
//
// A sixth exploration ([SearchGenerators]) has processes that make IDs by the rules of
// docs/grants.md (G1 to G12), and an ordinary holder. It runs the real machine of the rules,
// grants.Generator, and the owner's real partition.Table, with the replies that a member makes. A
// request and a release may be lost, delayed, or arrive twice, a reply may be lost or late, also
// after its request has failed. A process is called for an ID, releases its grant, or continues as a
// copy; another process releases its grant. The owner ends sessions, forgets released attachments,
// is replaced, and loses its table, but not the definition; the sequencer is destroyed, forgotten and
// created again. Time passes by a millisecond or by more than a minute, for all together, or for each
// clock alone.
//
// Each ID is compared with all IDs of all processes and with each tick that the holder may use, with
// the process's last ID, with the grants in the replies that it has received, with the end of the
// layout and the grid's time, and with a release or a destroy before it. [GeneratorMutants] lists
// the rules that are omitted, with the kind of forbidden ID that each leads to. [GeneratorsHarmless]
// lists rules without which no forbidden ID, or none of some kinds, is made.
//
// The table is enough: it decides each grant. The machine of a partition adds replicas, a learning
// period and refusals of claims, which delay or withhold replies, and here a reply may be delayed or
// withheld at any time. Its record of released attachments is part of the owner's state. The first
// exploration covers replicas, and names that a holder's claim creates again after a loss.
//
//	go test -C proof ./explore                                  # small scopes completely, and omitted rules
//	go test -C proof ./explore -run Mutants -v                  # the stories
//	go test -C proof ./explore -run Large -long -long-for 2h    # large scopes, as far as time allows
//
// # Omissions
//
// A log entry is followed by a member that receives it, or by another entry: before that it has no
// effect. Messages without a possible effect are removed: messages to dead processes, and messages
// in a term that neither side accepts any longer. Pages of tables, other partitions and other names
// do not exist.
//
// A state is identified by 128 hash bits ([Result] has the number of states). With 100 million
// states the probability that any two share a hash is below 10^-20.
package explore
