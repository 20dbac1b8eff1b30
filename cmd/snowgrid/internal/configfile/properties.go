package configfile

import (
	"bytes"
	"regexp"
)

// property matches a line of a properties file: key=value.
var property = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9_.-]*)[ \t]*=[ \t]*(.*?)\s*$`)

// properties reads a Java properties file; lines starting with # or ! are comments. It returns nil if
// any other line is not key=value: the file is YAML.
func properties(path string, text []byte) (*File, error) {
	f := &File{Path: path}
	var faults []error
	line := 0
	for content := range bytes.Lines(text) {
		line++
		trimmed := bytes.TrimSpace(content)
		if len(trimmed) == 0 || trimmed[0] == '#' || trimmed[0] == '!' {
			continue
		}
		at := property.FindSubmatchIndex(content)
		if at == nil {
			return nil, nil //nolint:nilnil // neither a file of this form nor a fault
		}
		entry := Entry{Key: string(content[at[2]:at[3]]), Line: line, KeyColumn: at[2] + 1, Column: at[4] + 1,
			Values: []string{string(content[at[4]:at[5]])}}
		if err := f.add(entry); err != nil {
			faults = append(faults, err)
		}
	}
	if len(f.Entries) == 0 {
		return nil, nil //nolint:nilnil // an empty file is one of YAML
	}
	return f, joined(path, faults)
}
