package verify

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ErrColumns means that the rows have no such column.
var ErrColumns = errors.New("verify: columns")

// Columns states where a row has its ID and its host. The zero value is a row that is an ID.
type Columns struct {
	ID   string // the name in the header, or a number from 1 on; "" is the first column
	Host string // "" for none
	// Comma separates the columns; 0 is a comma.
	Comma rune
}

// lineMax limits a line that is an ID; check skips the rest.
const lineMax = 64 << 10

// readLines reads one ID per line.
func (r *reader) readLines(in io.Reader) error {
	lines := bufio.NewReaderSize(in, max(lineMax, 1<<20))
	for line := uint64(1); ; line++ {
		text, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // too long for an ID: its beginning is enough
			text = slices.Clone(text[:100])
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("verify: line %d: %w", line, err)
		}
		end := err == io.EOF
		text = bytes.TrimRight(text, "\r\n")
		switch {
		case len(text) == 0 && end:
			return nil
		case len(bytes.TrimSpace(text)) == 0:
			r.blank++
		case line == 1 && isHeader(text):
			r.header = string(text)
		default:
			if err := r.add(text, line, nil); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// isHeader reports whether the first line has only letters and underscores, like a column's name.
func isHeader(text []byte) bool {
	name := strings.Trim(string(text), " \t\"'`")
	letters := func(r rune) bool { return r == '_' || r == ' ' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return !letters(r) }) < 0
}

// readColumns reads delimited rows (RFC 4180).
func (r *reader) readColumns(in io.Reader) error {
	rows := csv.NewReader(bufio.NewReaderSize(in, 1<<20))
	rows.FieldsPerRecord, rows.ReuseRecord, rows.LazyQuotes = -1, true, true
	if r.cfg.Columns.Comma != 0 {
		rows.Comma = r.cfg.Columns.Comma
	}
	idColumn, hostColumn := -1, -1
	for first := true; ; first = false {
		fields, err := rows.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if first {
			named, err := r.cfg.Columns.find(fields, &idColumn, &hostColumn)
			if err != nil {
				return err
			}
			if named || idColumn < len(fields) && isHeader([]byte(fields[idColumn])) {
				r.header = strings.Join(fields, string(rows.Comma))
				continue
			}
		}
		if err := r.addFields(rows, fields, idColumn, hostColumn); err != nil {
			return err
		}
	}
}

// addFields checks one delimited row. A row that lacks the ID's column is reported as NotAnID.
func (r *reader) addFields(rows *csv.Reader, fields []string, idColumn, hostColumn int) error {
	position, _ := rows.FieldPos(0)
	line, text, host := uint64(position), []byte(nil), []byte(nil)
	if idColumn < len(fields) {
		text = []byte(fields[idColumn])
	}
	if hostColumn >= 0 {
		host = []byte{}
		if hostColumn < len(fields) {
			host = []byte(fields[hostColumn])
		}
	}
	return r.add(text, line, host)
}

// find sets the columns' numbers, from 0 on. named reports whether the fields are a header.
func (c Columns) find(fields []string, id, host *int) (named bool, err error) {
	for _, column := range []struct {
		text   string
		number *int
	}{{c.ID, id}, {c.Host, host}} {
		if n, err := strconv.Atoi(column.text); err == nil && n >= 1 && n <= 10_000 {
			*column.number = n - 1
			continue
		}
		if column.text == "" {
			continue
		}
		i := slices.Index(fields, column.text)
		if i < 0 {
			return false, fmt.Errorf("%w: no column %q in the header %q; give one of its names, or a number from 1 on",
				ErrColumns,
				column.text, fields)
		}
		*column.number, named = i, true
	}
	if c.ID == "" {
		*id = 0
	}
	return named, nil
}
