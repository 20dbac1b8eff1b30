package roster

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// MaxBuild is the maximum length of a build's version in bytes.
const MaxBuild = 64

// Release describes a process's release: its protocols, and its build, which is only for display.
// The zero value is a release with protocol 1 and no description.
type Release struct {
	Min   Protocol `json:"min,omitempty"`
	Max   Protocol `json:"max,omitempty"`
	Build string   `json:"build,omitempty"` // a version or a commit, at most MaxBuild bytes
}

// Check returns an [ErrInvalid] for an impossible release.
func (r Release) Check() error {
	const most = 255 // the number is the first byte of an entry
	switch {
	case r.Min < 0 || r.Max > most || r.Max.Known() < r.Min.Known():
		return fmt.Errorf("%w: protocols %d to %d are not a range within 1 to %d", ErrInvalid, r.Min, r.Max, most)
	case len(r.Build) > MaxBuild || !spelling.IsPlain(r.Build):
		return fmt.Errorf("%w: build %.80q must be at most %d bytes of UTF-8 without control characters", ErrInvalid, r.Build,
			MaxBuild)
	}
	return nil
}

// Reads reports whether the release supports a protocol.
func (r Release) Reads(p Protocol) bool { return r.Min.Known() <= p && p <= r.Max.Known() }

// Meets returns an [ErrInvalid] if two releases have no protocol in common. Their members cannot be
// in one grid.
func (r Release) Meets(other Release) error {
	if max(r.Min.Known(), other.Min.Known()) <= min(r.Max.Known(), other.Max.Known()) {
		return nil
	}
	older, newer := r, other
	if other.Max.Known() < r.Min.Known() {
		older, newer = other, r
	}
	return fmt.Errorf("%w: %s and %s have no protocol in common; upgrade the older one to a release that has protocol "+
		"%d first",
		ErrInvalid, older, newer, newer.Min.Known())
}

// String returns the build and the protocols.
func (r Release) String() string {
	build := r.Build
	if build == "" {
		build = "of an unknown build"
	}
	if r.Min.Known() == r.Max.Known() {
		return fmt.Sprintf("snowgrid %s (protocol %d)", build, r.Max.Known())
	}
	return fmt.Sprintf("snowgrid %s (protocols %d to %d)", build, r.Min.Known(), r.Max.Known())
}
