// Package sqlfunctions writes the parts and ranges of a sequencer's IDs as SQL, for queries by time in a database that
// has the IDs in a column of 64-bit integers.
//
// Each dialect has a file with the text. Its places in braces are replaced by the numbers of the definition, so the
// functions read no table and no setting.
package sqlfunctions

import (
	_ "embed"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Dialect is a database system.
type Dialect string

// The dialects, by their names on the command line.
const (
	PostgreSQL Dialect = "postgres"
	MySQL      Dialect = "mysql" // and MariaDB
	SQLite     Dialect = "sqlite"
	ClickHouse Dialect = "clickhouse"
)

// The texts of the dialects.
var (
	//go:embed postgres.sql
	postgresText string
	//go:embed mysql.sql
	mysqlText string
	//go:embed sqlite.sql
	sqliteText string
	//go:embed clickhouse.sql
	clickhouseText string
)

type dialect struct {
	text       string
	identifier int // maximum length of an identifier
	// digit is the expression of one digit of an ID in Base32, value the part of an ID that one digit of a text has.
	digit, value template
}

// template is an expression for each digit of Base32, with the text between two.
type template struct{ expression, join string }

// dialects has each dialect. SQLite and ClickHouse do not limit identifiers; 128 keeps their names readable.
var dialects = map[Dialect]dialect{
	PostgreSQL: {
		text: postgresText, identifier: 63,
		digit: template{"substr('{digits}', ((id >> {shift}) & 31)::integer + 1, 1)", "\n    || "},
		value: template{"((strpos('{digits}', substr(digits, {place}, 1)) - 1)::bigint << {shift})", "\n    | "},
	},
	MySQL: {
		text: mysqlText, identifier: 64,
		digit: template{"SUBSTR('{digits}', ((id >> {shift}) & 31) + 1, 1)", ",\n    "},
		value: template{"((LOCATE(SUBSTR(digits, {place}, 1), '{digits}') - 1) << {shift})", "\n    | "},
	},
	SQLite: {
		text: sqliteText, identifier: 128,
		digit: template{"substr('{digits}', ((id >> {shift}) & 31) + 1, 1)", "\n    || "},
		value: template{"((instr('{digits}', substr(:digits, {place}, 1)) - 1) << {shift})", "\n--     | "},
	},
	ClickHouse: {
		text: clickhouseText, identifier: 128,
		digit: template{"substring('{digits}', bitAnd(bitShiftRight(id, {shift}), 31) + 1, 1)", ",\n    "},
		value: template{"bitShiftLeft(toInt64(position('{digits}', substring(digits, {place}, 1))) - 1, {shift})",
			"\n    + "},
	},
}

// Names returns the names of the dialects, in the order of the documentation.
func Names() []string {
	return []string{string(PostgreSQL), string(MySQL), string(SQLite), string(ClickHouse)}
}

// Texts in Base32, as package idtext writes them.
const (
	base32Digits = "0123456789abcdefghjkmnpqrstvwxyz"
	base32Width  = 13
)

// longestSuffix is the longest text that follows the prefix in an identifier.
const longestSuffix = "_from_base32"

// Prefix returns the prefix of identifiers that belongs to a sequencer's name: its letters in lower case, with an
// underscore in place of each other character but digits. Names that differ in such characters alone have the same.
func Prefix(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r > '~': // Text refuses the last
			return r
		}
		return '_'
	}, name)
}

// checkPrefix returns an error for a prefix that makes no identifier.
func checkPrefix(prefix string, limit int) error {
	limit -= len(longestSuffix)
	other := strings.ContainsFunc(prefix, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
	if prefix == "" || other || prefix[0] < 'a' || len(prefix) > limit {
		return fmt.Errorf("sqlfunctions: prefix %.200q makes no identifiers; "+
			"give at most %d of a to z, digits and underscores, with a letter first", prefix, limit)
	}
	return nil
}

// Text returns the SQL for the IDs of a definition. The names in it begin with the prefix.
func Text(dialect Dialect, prefix string, d sequencer.Definition) (string, error) {
	known, ok := dialects[dialect]
	if !ok {
		return "", fmt.Errorf("sqlfunctions: unknown dialect %.40q; give %s", dialect, strings.Join(Names(), ", "))
	}
	if err := checkPrefix(prefix, known.identifier); err != nil {
		return "", err
	}
	cfg := d.Config()
	layout := cfg.Layout
	counterBits := layout.LowBits - bits.Len(uint(cfg.Nodes-1))
	epoch, times := cfg.Epoch.Time(), int64(1)<<(layout.Bits-layout.LowBits)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return strings.NewReplacer(
		"{base32}", known.digit.forEach(),
		"{parse32}", known.value.forEach(),
		"{counterbits}", number(int64(counterBits)),
		"{datetimemost}", d.MaxID(datetimeEnd).String(),
		"{definition}", d.String(),
		"{digits}", base32Digits,
		"{end}", d.Exhausted().Format(datetime),
		"{epoch}", epoch.Format(datetime),
		"{epochms}", number(epoch.UnixMilli()),
		"{lastcounter}", number(1<<counterBits-1),
		"{lastms}", number(epoch.UnixMilli()+times-1),
		"{lastnode}", number(int64(cfg.Nodes-1)),
		"{lasttime}", number(times-1),
		"{lowbits}", number(int64(layout.LowBits)),
		"{lowmask}", number(1<<layout.LowBits-1),
		"{most}", number(int64(uint64(1)<<layout.Bits-1)),
		"{datetimeend}", datetimeBranch(d.Exhausted(), times-1),
		"{prefix}", prefix,
	).Replace(known.text), nil
}

// datetime is the form of times in SQL.
const datetime = "2006-01-02 15:04:05.000"

// forEach returns the expressions of all digits, beginning with the digit of the highest bits.
func (t template) forEach() string {
	var all []string
	for i := range base32Width {
		all = append(all, strings.NewReplacer("{digits}", base32Digits, "{place}", strconv.Itoa(i+1), "{shift}",
			strconv.Itoa(5*(base32Width-1-i))).Replace(t.expression))
	}
	return strings.Join(all, t.join)
}

// datetimeEnd is the last millisecond of the type DATETIME in MySQL. A function that computes a later one fails.
var datetimeEnd = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// datetimeBranch returns the branch for times after the last millisecond, none if DATETIME ends before.
func datetimeBranch(end time.Time, last int64) string {
	if end.After(datetimeEnd) {
		return ""
	}
	return fmt.Sprintf("\n  WHEN t >= TIMESTAMP'%s' THEN %d", end.Format(datetime), last)
}
