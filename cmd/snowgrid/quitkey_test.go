package main

import (
	"strings"
	"testing"
)

func TestQuitKey(t *testing.T) {
	in := strings.NewReader("abcqd")
	awaitQuit(in)
	if in.Len() != 1 {
		t.Errorf("%d keys are left after q, want 1", in.Len())
	}
	awaitQuit(in) // the end is a q, too
	ctx, done := untilQuit(t.Context(), in)
	defer done()
	if ctx != t.Context() {
		t.Error("an input that is no terminal ends the command")
	}
}
