package sql

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// refusal is a kind of answer that stays until a person changes the database, its users or the connection.
type refusal struct {
	postgres []string // SQLSTATE
	mysql    []string // numbers
	sqlite   string   // part of the text
	remedy   string
}

var (
	noTable = refusal{postgres: []string{"42P01"}, mysql: []string{"1146"}, sqlite: "no such table",
		remedy: "create the table with CreateTable, or by the statement of Schema in a migration"}
	noRight = refusal{postgres: []string{"42501"}, mysql: []string{"1142", "1143"},
		sqlite: "attempt to write a readonly database",
		remedy: "let the database's user read the table, insert rows and update them"}
	noLogin = refusal{postgres: []string{"28000", "28P01", "3D000"}, mysql: []string{"1044", "1045", "1049", "1698"},
		remedy: "correct the user, the password or the database's name in the connection string"}
	notCreated = refusal{postgres: []string{"42501", "3F000"}, mysql: []string{"1142", "1044", "1049"},
		sqlite: "attempt to write a readonly database",
		remedy: "let the database's user create tables there, or run the statement of Schema as another one"}
)

// refusals are the kinds that all calls but CreateTable meet.
var refusals = []refusal{noTable, noRight, noLogin}

// is reports whether an error is a refusal. The drivers belong to the user, so it reads what all of them have: a method
// for the SQLSTATE, or the text.
func (d Dialect) is(err error, r refusal) bool {
	switch d {
	case SQLite:
		return r.sqlite != "" && strings.Contains(err.Error(), r.sqlite)
	case MySQL:
		number := mysqlNumber.FindStringSubmatch(err.Error())
		return number != nil && slices.Contains(r.mysql, number[1])
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return slices.Contains(r.postgres, state.SQLState())
	}
	text := postgresState.FindStringSubmatch(err.Error())
	return text != nil && slices.Contains(r.postgres, text[1])
}

var (
	mysqlNumber   = regexp.MustCompile(`(?i)\berror (\d{4})\b`)
	postgresState = regexp.MustCompile(`\bSQLSTATE ([0-9A-Z]{5})\b`)
)
