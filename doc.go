// Package snowgrid is the root of a distributed in-memory data grid for unique, time-ordered 64-bit
// IDs. It has no code of its own; start at the package that fits the program:
//
//   - client/store: sequencers over a store that runs already: etcd, S3, SQL or a directory.
//   - grid: a member, embedded in the service; grid/gridtest runs a whole grid in a test.
//   - client: a thin client of a grid that runs elsewhere.
//   - sequencer: the named ID stream that all of them return, the IDs and their layout.
//   - epoch: the time origin of a sequencer's IDs.
//   - idtext: short texts of IDs, and IDs with a prefix for their kind.
//   - security: certificates, keys and roles, for a grid that other machines reach.
//   - metrics: Prometheus metrics of a member and of a client.
//   - otel: OpenTelemetry spans of a member, a client and a store client.
//
// The command line is in cmd/snowgrid, programs to copy from are in examples.
//
// # Compatibility
//
// The promise of README.md covers these packages, client/store/storetest and the adapters
// client/etcd with mixed, client/s3 and client/sql, and otel. The folder api lists what they export. Packages
// partition and backup are machinery without a promise, and all else is internal.
package snowgrid
