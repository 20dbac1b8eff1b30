package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// Limits for a holder's description of itself.
const (
	MaxLabels     = 16  // per holder
	MaxLabelKey   = 63  // bytes
	MaxLabelValue = 128 // bytes
	MaxLabelBytes = 512 // all keys and values together, per holder
	MaxBuild      = 64  // bytes
)

// About is a holder's self-description, for display only.
type About struct {
	Build  string            `json:"build,omitempty"`  // its client's version
	Labels map[string]string `json:"labels,omitempty"` // such as host, pid and service
}

// Check refuses a description that breaks a limit. Errors match ErrBadRequest. It may be
// called on nil, which describes nothing.
func (a *About) Check() error {
	if a == nil {
		return nil
	}
	if len(a.Build) > MaxBuild || !isPlain(a.Build) {
		return failure.Errorf(ErrBadRequest, "grid: build %.80q: give at most %d bytes of printable text", a.Build, MaxBuild)
	}
	if err := CheckLabels(a.Labels); err != nil {
		return failure.Errorf(ErrBadRequest, "grid: %w", err)
	}
	return nil
}

// CheckLabels refuses labels that break a limit, naming the label, the limit and the remedy.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("%d labels; give at most %d", len(labels), MaxLabels)
	}
	bytes := 0
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		switch {
		case key == "" || len(key) > MaxLabelKey || strings.ContainsFunc(key, notInKeys):
			return fmt.Errorf("label %.80q: give 1 to %d letters, digits and . _ - / as its name", key, MaxLabelKey)
		case len(value) > MaxLabelValue || !isPlain(value):
			return fmt.Errorf("label %s=%.80q: give at most %d bytes of printable text", key, value, MaxLabelValue)
		}
		bytes += len(key) + len(value)
	}
	if bytes > MaxLabelBytes {
		return fmt.Errorf("the labels have %d bytes; give at most %d", bytes, MaxLabelBytes)
	}
	return nil
}

// notInKeys reports whether a character is forbidden in a label's name.
func notInKeys(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
}

// isPlain reports whether a text fits a line of a table.
func isPlain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
