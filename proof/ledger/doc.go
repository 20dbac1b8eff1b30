// Package ledger records the grants and IDs of a grid, and detects contradictions: two
// attachments with one timestamp of one logical node, and two equal IDs.
//
// It is independent of the implementation of a grid, and of any workload. A test reports
// to a [Ledger] every grant that a holder received, every release that it sent, and every
// ID that it issued; the first contradiction is returned as an error immediately. The
// checks are exact: intervals are merged, nothing is sampled or hashed.
//
//	go test -C proof ./ledger
package ledger
