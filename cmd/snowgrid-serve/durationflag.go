package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// durationFlag is a duration as Go writes it, 1m30s, or as ISO 8601 does, PT1M30S.
type durationFlag time.Duration

var isoDuration = regexp.MustCompile(`^PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6}(?:\.\d{1,9})?)S)?$`)

// UnmarshalText parses either form.
func (d *durationFlag) UnmarshalText(text []byte) error {
	if v, err := time.ParseDuration(string(text)); err == nil {
		*d = durationFlag(v)
		return nil
	}
	parts := isoDuration.FindStringSubmatch(string(text))
	if parts == nil || string(text) == "PT" {
		return fmt.Errorf("%.40q is not a duration; write it as 2m, 90s or PT2M", text)
	}
	total := 0.0
	for i, seconds := range []float64{3600, 60, 1} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseFloat(parts[i+1], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a duration: %w", text, err)
		}
		total += n * seconds
	}
	*d = durationFlag(total * float64(time.Second))
	return nil
}

// of returns the duration, 0 if it was not given.
func (d *durationFlag) of() time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d)
}
