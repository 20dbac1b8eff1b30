package registration

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Set names a set of numbers for one purpose in one cluster.
type Set struct {
	Cluster string
	Name    string
}

// Number is a number in a set, applied for or assigned. Its code proves that an application is a
// repeated one, and that a process has the file with the number.
type Number struct {
	Cluster string      `json:"cluster"`
	Set     string      `json:"set"`
	ID      uint64      `json:"id"`
	Code    roster.Code `json:"code"`
}

// Of returns the number's set.
func (n Number) Of() Set { return Set{n.Cluster, n.Set} }

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

// OtherSetError means that a file belongs to another cluster or set than the configured one.
type OtherSetError struct{ File, Configured Set }

// Error names both, and the remedy.
func (e *OtherSetError) Error() string {
	return fmt.Sprintf("the data directory belongs to set %q of cluster %q, and set %q of cluster %q is configured; correct the configuration, or give another directory",
		e.File.Name, e.File.Cluster, e.Configured.Name, e.Configured.Cluster)
}
