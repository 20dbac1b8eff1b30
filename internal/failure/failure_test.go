package failure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/internal/failure"
)

func TestErrorf(t *testing.T) {
	sentinel, other := errors.New("sentinel"), errors.New("other")
	err := failure.Errorf(sentinel, "grid: no answer: %w", context.Canceled)
	if err.Error() != "grid: no answer: context canceled" {
		t.Errorf("the text is %q", err)
	}
	outer := fmt.Errorf("create: %w", failure.Errorf(other, "client: %w", err))
	for _, want := range []error{sentinel, other, context.Canceled} {
		if !errors.Is(outer, want) {
			t.Errorf("%v does not match %v", outer, want)
		}
	}
	if errors.Is(err, other) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v matches what it is not", err)
	}
}
