// Package snowgrid is the root of a distributed in-memory data grid whose one job is unique,
// time-ordered 64-bit IDs. It holds no code of its own; start at the package that fits the program:
//
//   - grid: a member, embedded in the service; the usual way to use snowgrid.
//   - client: a thin client of a grid that runs elsewhere.
//   - sequencer: the named ID stream both of them hand out, the IDs and their layout.
//   - epoch: the time origin of a sequencer's IDs.
//   - security: certificates, keys and roles, for a grid that other machines reach.
//
// Most programs need nothing else. Behind them are roster (the state that members agree on),
// clustertime (the time that they agree on), partition (an owner's tables of logical nodes),
// backup (the replicas of a table) and wire (the messages).
// The command line is in cmd/snowgrid, programs to copy from are in examples.
package snowgrid
