package main

import (
	"context"
	"testing"
	"time"
)

// TestRun: the program ends well, which means that its denials were denials.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		t.Fatal(err)
	}
}
