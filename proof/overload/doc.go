// Package overload shows that a grid which had more to do than it could heals when that is
// over: dials stay few while it lasts, goroutines have a bound, and within one window after its
// end every handle issues IDs, and from then on no renewal fails.
//
// Its tests are small in go test ./...; make proof-overload runs them in full.
package overload
