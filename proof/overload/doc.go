// Package overload shows that a grid which had more to do than it could heals when that is
// over: dials stay few while it lasts, goroutines and memory do not grow, and within one
// window after its end every handle issues IDs and renewals go at their full rate.
//
// Its tests are small in go test ./...; make overload runs them in full.
package overload
