// Package attack shows that processes which may open connections to a secured grid, but mean
// harm, do not keep it from its work: while they attack members on every port, other processes
// attach as fast as before, health checks are answered, and members take little more memory.
//
// Attackers and members have the same machine, and what attackers compute is no fault of
// members. So with -apart attackers have one half of the processors and members and the honest client
// the other, when it is calm too: attackers are as strong as the whole grid, and take no processor
// time from it. Without, the threads of attackers run only when no other wants their processor.
// What members spend on an attack is in the table, as processors of all members together.
//
// Its test is small in go test ./...; make attack runs it in full and prints the table.
package attack
