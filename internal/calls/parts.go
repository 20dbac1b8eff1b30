package calls

import (
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/identity"
)

// Parts replace parts of a client: a member gives its own, and tests give theirs.
type Parts struct {
	Transport Transport         // carries the calls; nil = a pool over client.Config.Dial
	Clock     *handles.Clock    // cluster time; nil = a clock for the client alone
	Process   *identity.Process // in place of a DataDir; nil = the client opens its own
}

// configure is a func(client.Config, Parts) client.Config. Package client, which imports this one, sets
// it: parts are of internal packages, so client.Config has no exported field or method for them.
var configure any

// Configurable lets [With] add parts to a configuration of type C. Package client alone calls it.
func Configurable[C any](f func(C, Parts) C) { configure = f }

// With returns a client.Config with parts: members and package gridtest replace the transport, the
// clock and the identity of their clients.
func With[C any](config C, p Parts) C { return configure.(func(C, Parts) C)(config, p) }
