// Package epoch defines the time origin of a sequencer's IDs.
//
// An ID carries a timestamp: the milliseconds from its sequencer's epoch to
// its generation. The timestamp has 40 usable bits, so a sequencer
// gives IDs for 34.8 years from its epoch (with another layout of the bits, see
// sequencer.Layout, up to 2,229 years). A later epoch therefore lasts longer, and an
// earlier one gives larger IDs.
//
// An [Epoch] is a number of milliseconds, and its zero value is [Default], the
// start of 2026 in UTC. Most users need nothing else. Another origin is stated
// once, with the sequencer's definition, and never changes:
//
//	epoch.Default                       // 2026-01-01T00:00:00.000Z
//	epoch.At(time.Date(2025, time.June, 1, 0, 0, 0, 0, time.UTC))
//	epoch.UnixMilli(1_748_736_000_000)  // the same instant
//	epoch.Twitter, epoch.Discord        // origins of other systems
//
// The presets [Twitter] and [Discord] are only origins. IDs that look like those of the
// other system need its layout, too: sequencer.Twitter.
//
// An epoch is neither valid nor invalid by itself. Whether it lies in the future,
// or so far back that no IDs are left, depends on the time, and this package
// reads no clock.
package epoch

import (
	"math"
	"time"
)

// origin is 2026-01-01T00:00:00Z in Unix milliseconds, the instant that the
// zero Epoch stands for.
const origin = 1_767_225_600_000

// textLayout is RFC 3339 with exactly three decimals, so that all epochs of
// four-digit years have texts of equal length.
const textLayout = "2006-01-02T15:04:05.000Z07:00"

// Epoch is a time origin, in milliseconds after 2026-01-01T00:00:00Z. Earlier
// origins are negative. Epochs are equal when they are the same instant, and
// compare with <.
type Epoch int64

// The origins with a name.
const (
	// Default is 2026-01-01T00:00:00.000Z, the zero value.
	Default Epoch = 0

	// Twitter is 2010-11-04T01:42:54.657Z, the origin of Twitter's IDs.
	Twitter Epoch = 1_288_834_974_657 - origin

	// Discord is 2015-01-01T00:00:00.000Z, the origin of Discord's IDs.
	Discord Epoch = 1_420_070_400_000 - origin
)

// At returns the epoch at t. What t has below a millisecond is cut off, towards
// the past. Its location does not matter. As with [time.Time.UnixMilli], the
// result means nothing for a t more than 292 million years from 1970.
func At(t time.Time) Epoch {
	return UnixMilli(t.UnixMilli())
}

// UnixMilli returns the epoch ms milliseconds after 1970-01-01T00:00:00Z. The
// 56 years' worth of values next to the smallest int64 do not fit and give the
// smallest Epoch.
func UnixMilli(ms int64) Epoch {
	if ms < math.MinInt64+origin {
		return math.MinInt64
	}
	return Epoch(ms - origin)
}

// Time returns the epoch as a time in UTC.
func (e Epoch) Time() time.Time {
	return time.UnixMilli(e.UnixMilli()).UTC()
}

// UnixMilli returns the epoch in milliseconds after 1970-01-01T00:00:00Z. The
// 56 years' worth of epochs next to the largest do not fit and give the largest
// int64.
func (e Epoch) UnixMilli() int64 {
	if e > math.MaxInt64-origin {
		return math.MaxInt64
	}
	return int64(e) + origin
}

// String returns the epoch in the form of RFC 3339, in UTC and with
// milliseconds: "2026-01-01T00:00:00.000Z".
func (e Epoch) String() string {
	return e.Time().Format(textLayout)
}
