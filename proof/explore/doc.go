// Package explore tries everything that may happen in a small grid, and shows that
// nothing of it gives one timestamp of a logical node to two attachments.
//
// It runs the real machines: roster.Roster with its commands, a backup.Replica
// over a partition.Table for each process. Around them stands a small driver, which
// does what a member's goroutines do (package grid: act before each request, hold
// each answer until all hold what it rests on, admit a joiner at one version only).
// There is no time in it. Whatever the rules allow may happen at any moment:
//
//   - the log gets any command that the roster takes; every member learns any later
//     roster at any time, or never, and acts on the one it has;
//   - whatever was sent stays deliverable for ever: it is lost, late, repeated and
//     overtaken in every way;
//   - processes are killed and come back empty as another incarnation;
//   - holders attach, attach again, renew, show to a new owner what it does not
//     know, give back with any last timestamp; owners let them expire, end lives,
//     begin others and forget ended ones;
//   - an answer counts from the moment it leaves the owner, whether it arrives or
//     not.
//
// A [Scope] bounds how much of each there is. The search is breadth first, so what
// it finds is found by a shortest way, which is told as a story, one line a step
// ([Legend] explains the words). The invariant is that no two attachments may ever
// use the same tick of the same node, and no two lives of the name the same tick of
// any.
//
// Checkers that cannot fail are worth nothing, so [Mutants] leaves out one rule
// after the other and each must lead to a duplicate.
//
// # Definitions
//
// A second exploration ([SearchNames]) asks who knows of a name: in memory, on disks,
// and after losses. It runs the same replicas and tables with the disks of durable
// members around them; a write begins and ends in steps of its own, a process may end
// in between. Each answer about the name has to know every life that was answered
// before, and each disk that the roster names has to know them at every moment. Two
// lives of the name count as different definitions whatever they say. [NameMutants]
// leaves out the rules one after the other.
//
//	go test ./proof/explore                                  # all mutants, small scopes to their end
//	go test ./proof/explore -run Mutants -v                  # the stories
//	go test ./proof/explore -run Large -long -long-for 2h    # large scopes, as far as time goes
//
// # What is left out
//
// An entry of the log is followed by somebody's learning it or by another entry: it
// makes no difference before. Messages that can have no effect are forgotten:
// those to dead processes, and those of a term that neither side believes in any
// more. Of the shell's rules that only make somebody wait none is there (who was
// given back is refused for a window, what was lost is asked for before a name is
// unknown, a destroy asks holders first): without them more can happen. Pages of
// tables, other partitions and other names do not exist.
//
// A state is known by 128 bits of a hash ([Result] says how many there were). With
// 100 million states the odds that any two share one are below 10^-20.
package explore
