package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// outputFlag selects a result's format. docs/output.md lists the JSON fields; later versions only
// add fields.
type outputFlag struct {
	Output string `short:"o" help:"Output format: text or json." enum:"text,json" default:"text"`
}

func (o outputFlag) json() bool { return o.Output == "json" }

// result writes value as JSON, or the columns of text.
func (o outputFlag) result(w io.Writer, value any, text func(io.Writer)) error {
	if !o.json() {
		return aligned(w, text)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// line writes value as JSON, or a line of text.
func (o outputFlag) line(w io.Writer, value any, format string, args ...any) error {
	if o.json() {
		return o.result(w, value, nil)
	}
	_, err := fmt.Fprintf(w, format+"\n", args...)
	return err
}

// moment formats a time, "-" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(millisecondLayout)
}

// millisecondLayout formats times with the resolution of an ID.
const millisecondLayout = "2006-01-02T15:04:05.000Z07:00"
