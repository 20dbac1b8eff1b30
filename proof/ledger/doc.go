// Package ledger keeps what a grid granted and issued, and says what must never
// be: two attachments with one timestamp of one logical node, and two equal IDs.
//
// It knows nothing of how a grid works, and of no workload. A test tells a
// [Ledger] of every grant a holder received, of every release it sent, and of
// every ID it made; the first contradiction comes back as an error at once. The
// checks are exact: intervals are merged, nothing is sampled or hashed.
//
//	go test ./proof/ledger
package ledger
