package main

import (
	"encoding/json"
	"io"
	"time"
)

// outputFlag chooses the form of a command's result. The fields of the JSON documents are
// in docs/commands.md; later versions add fields and change none.
type outputFlag struct {
	Output string `short:"o" help:"Output format: text or json." enum:"text,json,table" default:"text"`
}

// json reports whether the result is JSON. The text format had the name table before.
func (o outputFlag) json() bool { return o.Output == "json" }

// result writes the result of a command: value as JSON, or what text writes.
func (o outputFlag) result(w io.Writer, value any, text func(io.Writer) error) error {
	if !o.json() {
		return text(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
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
