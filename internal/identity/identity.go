// Package identity gives a process a number in a set, which it keeps across restarts: 1 for the first
// process in the set, 2 for the next one, and so on. The grid allocates a number to an application
// with a random code. The process stores the application before it sends the request, so that neither
// a crash nor a lost answer uses up a number.
//
// A process runs its registration with [Registrar.Run], and waits for the number with
// [Registrar.Await]. A data directory keeps the number, and the process's logical nodes ([Nodes]).
package identity

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// Process is a process's identity: its number and its remembered logical nodes. A member shares one
// with its handles; a client makes its own from its data directory.
type Process struct {
	Number *Registrar // nil if the process has none
	Nodes  *Nodes     // nil if they are not remembered
}

// Set names a set of numbers for one purpose in one cluster.
type Set struct {
	Cluster string
	Name    string
}

// Check refuses a configured set that a process with this data directory cannot use. A process
// without a number has no set; the default cluster is "".
func (s Set) Check(dataDir string) error {
	switch {
	case s.Name == "" && s.Cluster != "":
		return fmt.Errorf("cluster %.80q is given without a set; give the name of a set", s.Cluster)
	case s.Name != "" && dataDir == "":
		return fmt.Errorf("set %.80q needs a data directory to keep the number in; set DataDir (--data-dir)", s.Name)
	case s.Name == "":
		return nil
	}
	if fault := numbers.NameFault(cmp.Or(s.Cluster, "default"), s.Name); fault != "" {
		return errors.New(fault)
	}
	return nil
}

// Number is a number in a set, applied for or assigned. Its code proves that an application is a
// repeated one, and that a process has the file with the number.
type Number struct {
	Cluster string       `json:"cluster"`
	Set     string       `json:"set"`
	ID      uint64       `json:"id"`
	Code    numbers.Code `json:"code"`
}

// Check refuses a number that no grid can have assigned.
func (n Number) Check() error {
	switch {
	case n.Cluster == "" || n.Set == "":
		return errors.New("it names no cluster or no set")
	case n.ID == 0:
		return errors.New("its number is 0; numbers begin at 1")
	case n.Code.IsZero():
		return errors.New("it has no code")
	}
	return nil
}

// Files are the numbers that a data directory has; nil if a file does not exist. The number takes
// precedence over an application.
type Files struct {
	Application *Number
	Number      *Number
}

// Set returns the number's set: the configured one. Without a configured cluster, the files
// determine the cluster, or else the grid's name.
//
// The error names both sets if a file belongs to another one; in this case nothing may be written.
func (f Files) Set(configured Set, grid string) (Set, error) {
	for _, have := range []*Number{f.Number, f.Application} {
		if have == nil {
			continue
		}
		configured.Cluster = cmp.Or(configured.Cluster, have.Cluster)
		if have.Cluster != configured.Cluster || have.Set != configured.Name {
			return configured, fmt.Errorf("the data directory belongs to set %q of cluster %q, and set %q of cluster %q is "+
				"configured; correct the configuration, or give another directory",
				have.Set, have.Cluster, configured.Name, configured.Cluster)
		}
	}
	configured.Cluster = cmp.Or(configured.Cluster, grid)
	return configured, nil
}
