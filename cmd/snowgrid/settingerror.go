package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
)

// badValue returns an error about a value in a flag group. [sources.place] adds where it was set; a
// secret's value is omitted.
func badValue(key string, value any, format string, args ...any) error {
	return &configfile.Error{Key: key, Value: fmt.Sprint(value), Problem: fmt.Sprintf(format, args...)}
}

// place adds where a key was set to an error about its value: an error from badValue, or one that
// begins with a flag or a field of grid.Config. It returns other errors unchanged.
// Joined errors get their places one by one.
func (s *sources) place(err error) error {
	var out []error
	for _, err := range eachOf(err) {
		out = append(out, s.placeOne(err))
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

func (s *sources) placeOne(err error) error {
	fault, is := errors.AsType[*configfile.Error](err)
	if !is && err != nil {
		fault = s.parse(sentence(err))
	}
	if fault == nil || fault.IsPlaced() {
		return err
	}
	k, known := s.key(fault.Key)
	if !known {
		return err
	}
	return s.origin(k).fault(k.name, cmp.Or(fault.Value, s.text[k.name]), k.secret, fault.Problem)
}

// flagText matches an error text about a flag.
var flagText = regexp.MustCompile(`^--([a-z][a-z0-9-]*)(?:=(\S*))?:? (.+)$`)

// parse returns the error that a text is about, nil if the text does not begin with a flag
// or with a field of grid.Config.
func (s *sources) parse(text string) *configfile.Error {
	if parts := flagText.FindStringSubmatch(text); parts != nil {
		return &configfile.Error{Key: parts[1], Value: parts[2], Problem: parts[3]}
	}
	field, rest, _ := strings.Cut(text, " ")
	if field == "" || !unicode.IsUpper(rune(field[0])) {
		return nil
	}
	if k, known := s.keyOf(keyOfField(strings.TrimRight(field, ":"))); known {
		if strings.HasSuffix(field, ":") || strings.HasPrefix(rest, `"`) { // the key takes its place
			text = rest
		}
		return &configfile.Error{Key: k.name, Problem: s.inKeys(text)}
	}
	return nil
}

// keyOf returns a field's key, or, for a field with several keys, a key that was set.
func (s *sources) keyOf(name string) (key, bool) {
	k, known := s.key(name)
	for _, part := range s.keys {
		if known {
			break
		}
		if _, isSet := s.origins[part.name]; isSet && strings.HasPrefix(part.name, name+"-") {
			k, known = part, true
		}
	}
	return k, known
}

// fieldName matches field names in grid.Config, with the flag that may follow.
var fieldName = regexp.MustCompile(`\b([A-Z][A-Za-z.]+[A-Za-z])\b(?: \(--[a-z-]+\))?`)

// inKeys replaces field names in grid.Config by keys.
func (s *sources) inKeys(text string) string {
	return fieldName.ReplaceAllStringFunc(text, func(match string) string {
		name, _, _ := strings.Cut(match, " ")
		if k, known := s.key(keyOfField(name)); known {
			return k.name
		}
		return match
	})
}

// keyOfField returns the key for a field of grid.Config: data-dir for DataDir, api-addr for APIAddr,
// gossip-interval for Gossip.Interval.
func keyOfField(field string) string {
	var out strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		switch {
		case r == '.':
			out.WriteByte('-')
			continue
		case i > 0 && unicode.IsUpper(r) && runes[i-1] != '.' &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// isSettingError reports whether an error is about the configuration, and so is one line
// that needs no advice about commands and flags.
func isSettingError(err error) bool {
	_, is := errors.AsType[*configfile.Error](err)
	return is
}

// eachOf returns the errors that an error joins, or the error itself.
func eachOf(err error) []error {
	if err == nil {
		return nil
	}
	var all interface {
		error
		Unwrap() []error
	}
	if !errors.As(err, &all) || !isJoined(all.Error(), all.Unwrap()) {
		return []error{err}
	}
	var out []error
	for _, err := range all.Unwrap() {
		out = append(out, eachOf(err)...)
	}
	return out
}

// isJoined reports whether errors.Join has joined a text. An error that
// has a kind besides its text wraps both, and is one error.
func isJoined(text string, parts []error) bool {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.Error()
	}
	return text == strings.Join(texts, "\n")
}

// settingText returns the one line of an error about the configuration, without the text
// around it.
func settingText(err error) string {
	if fault, is := errors.AsType[*configfile.Error](err); is {
		return fault.Error()
	}
	return sentence(err)
}
