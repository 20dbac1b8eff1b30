package registrar

// Process is a process's identity: its number and its remembered logical nodes. A member shares one
// with its handles; a client makes its own from its data directory.
type Process struct {
	Number *Registrar // nil if the process has none
	Nodes  *Nodes     // nil if they are not remembered
}
