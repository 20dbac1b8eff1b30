package calls

import (
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/registrar"
)

// Parts replace parts of a client: a member gives its own, and tests give theirs.
type Parts struct {
	Transport Transport          // carries the calls; nil = HTTP over client.Config.Dial
	Clock     *handles.Clock     // cluster time; nil = a clock for the client alone
	Process   *registrar.Process // in place of a DataDir; nil = the client opens its own
}
