package roster_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

func TestReleasesMeet(t *testing.T) {
	old, present, next := roster.Release{}, roster.Release{Min: 1, Max: 2, Build: "v2"}, roster.Release{Min: 3, Max: 4,
		Build: "v4"}
	for _, c := range []struct {
		a, b  roster.Release
		meets bool
	}{{old, old, true}, {old, present, true}, {present, present, true}, {old, next, false}, {present, next,
		false}, {present, roster.Release{Min: 2, Max: 3}, true}} {
		for _, err := range []error{c.a.Meets(c.b), c.b.Meets(c.a)} {
			if (err == nil) != c.meets {
				t.Errorf("%s and %s: %v", c.a, c.b, err)
			}
		}
	}
	want := "snowgrid v2 (protocols 1 to 2) and snowgrid v4 (protocols 3 to 4) have no protocol in common; upgrade the " +
		"older one to a release that has protocol 3 first"
	for _, err := range []error{present.Meets(next), next.Meets(present)} {
		if err == nil || !errors.Is(err, roster.ErrInvalid) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v\nwant ... %s", err, want)
		}
	}
	if !old.Reads(1) || old.Reads(2) || !present.Reads(2) || present.Reads(3) {
		t.Error("a release reads the protocols of its range")
	}
}

func TestReleaseBounds(t *testing.T) {
	for _, r := range []roster.Release{{}, {Min: 1, Max: 255}, {Build: strings.Repeat("x", roster.MaxBuild)}} {
		if err := r.Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, r := range []roster.Release{{Min: -1}, {Max: 256}, {Min: 2}, {Min: 3, Max: 2}, {Build: "a\nb"},
		{Build: strings.Repeat("x", roster.MaxBuild+1)}} {
		if err := r.Check(); !errors.Is(err, roster.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
