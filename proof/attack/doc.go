// Package attack shows that processes which may open connections to a secured grid, but mean
// harm, do not keep it from its work: while they attack members on every port, other processes
// attach as fast as before, health checks are answered, and members take little more memory.
//
// Attackers and members share a machine, and the work of attackers is no fault of members. So
// with -apart attackers have one half of the processors, and members and the honest client the
// other, in the calm too: attackers are as strong as the whole grid, and take no processor time
// from it. Without -apart, the threads of attackers run only on idle processors. The table has
// the processor time that an attack costs all members together.
//
// Other processes of the machine delay attaches as an attack does. With -ratio the test waits until
// they leave the members' processors to them, and measures an attack again that they disturbed. If
// they do not end within ten minutes in all, it fails, and names the bound.
//
// Its test is small in go test ./...; make proof-attack runs it in full and prints the table.
package attack
