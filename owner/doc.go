// Package owner is what a member does for one partition. As the owner it serves
// holders from the logical-node table, and lets an answer leave only when every
// replica holds what it rests on; as another replica it takes what the owner sends.
//
// A [Machine] decides and never waits: it is given a [View] of what its member knows
// and a request or an answer, and tells its [Member] what to do. Package grid runs
// one for each partition in a goroutine of its own; the simulation of proof/sim runs
// the same machines without. The letters in comments (O1, O4, ...) are the rules of
// RELIABILITY.md.
package owner
