// Package attack shows that processes which may open connections to a secured grid, but mean
// harm, do not keep it from its work: while they attack members on every port, other processes
// attach as fast as before, health checks are answered, and members take little more memory.
//
// Its test is small in go test ./...; make attack runs it in full and prints the table.
package attack
