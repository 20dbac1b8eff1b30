package wire_test

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

func TestCheckFormat(t *testing.T) {
	for got, want := range map[int]struct{ fails, later bool }{-1: {true, false}, 0: {true, false}, 1: {},
		2: {true, true}} {
		err := wire.CheckFormat(got, 1)
		var f *wire.FormatError
		if later := errors.As(err, &f); (err != nil) != want.fails || later != want.later {
			t.Errorf("format %d: %v", got, err)
		}
		if want.later && *f != (wire.FormatError{Got: got, Reads: 1}) {
			t.Errorf("format %d: %+v", got, *f)
		}
	}
}
