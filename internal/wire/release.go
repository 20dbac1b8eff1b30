package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// OwnRelease returns this process's release: its protocols and its build.
func OwnRelease() roster.Release {
	return roster.Release{Min: roster.OldestProtocol, Max: roster.CurrentProtocol, Build: buildinfo.Read().Short()}
}

// HeaderRelease is in every call and answer of a Go process: the protocols that its
// release reads, and its build. A release of protocol 1 has none and ignores it.
const HeaderRelease = "Snowgrid-Release"

// ownHeader is this process's value for [HeaderRelease].
var ownHeader = sync.OnceValue(func() string { return FormatRelease(OwnRelease()) })

// SetRelease sets this process's header.
func SetRelease(h http.Header) { h[HeaderRelease] = []string{ownHeader()} }

// CheckRelease returns an ErrProtocol if the process that sent the headers has no protocol
// in common with this one. A process that states none, or states it in an unknown form, is
// not refused.
func CheckRelease(h http.Header) error {
	theirs, err := ParseRelease(h.Get(HeaderRelease))
	if err != nil {
		return nil
	}
	if err := OwnRelease().Meets(theirs); err != nil {
		return failure.Errorf(ErrProtocol, "grid: %w", err)
	}
	return nil
}

// FormatRelease returns a release as a header states it: "1-2 v1.4.0".
func FormatRelease(r roster.Release) string {
	return fmt.Sprintf("%d-%d %s", r.Min.Known(), r.Max.Known(), r.Build)
}

// ParseRelease parses a text from [FormatRelease]. An empty text is a protocol 1 release.
func ParseRelease(text string) (r roster.Release, err error) {
	if text == "" {
		return r, nil
	}
	protocols, build, _ := strings.Cut(text, " ")
	low, high, found := strings.Cut(protocols, "-")
	least, lowErr := strconv.ParseUint(low, 10, 8)
	most, highErr := strconv.ParseUint(high, 10, 8)
	r = roster.Release{Min: roster.Protocol(least), Max: roster.Protocol(most), Build: build}
	if err := errors.Join(lowErr, highErr, r.Check()); err != nil || !found || least == 0 {
		return roster.Release{}, failure.Errorf(ErrBadRequest, "grid: %s %.100q is not as in 1-2 v1.4.0", HeaderRelease, text)
	}
	return r, nil
}
