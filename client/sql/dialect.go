package sql

import (
	"fmt"
	"strings"
)

// Dialect is the kind of database behind a *sql.DB.
type Dialect int

// The dialects. MariaDB is MySQL.
const (
	PostgreSQL Dialect = iota
	MySQL
	SQLite
)

// String returns the name of the dialect.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// statements are the texts for one table. Their arguments are, in this order: key, body,
// new revision, replaced revision, generation; list takes the prefix twice.
type statements struct {
	create, load, list string
	insert, update     string
	insertIn, updateIn string // only while the server has the generation
	generation         string
}

// A server's generation.
const (
	// postgresGeneration is the timeline, which each promotion raises immediately: the
	// one of the last checkpoint would lag. On a standby the statement fails.
	postgresGeneration = `(SELECT system_identifier::text || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system())`
	// mysqlGeneration names the server: MySQL has no count of promotions.
	mysqlGeneration = `CONCAT(@@hostname, ':', @@port, '-', @@server_id)`
	// sqliteGeneration is constant: no other server takes the place of a file.
	sqliteGeneration = `'file'`
)

func (d Dialect) statements(table string) statements {
	switch d {
	case MySQL:
		return mysqlStatements(table)
	case SQLite:
		return sqliteStatements(table)
	}
	return postgresStatements(table)
}

func postgresStatements(table string) statements {
	t := quoted(table, `"`)
	s := statements{
		create: "CREATE TABLE IF NOT EXISTS " + t + ` (
	record_key text COLLATE "C" PRIMARY KEY,
	body bytea NOT NULL,
	revision text NOT NULL
)`,
		load: "SELECT body, revision FROM " + t + " WHERE record_key = $1",
		list: "SELECT record_key, body, revision FROM " + t +
			" WHERE record_key >= $1 AND starts_with(record_key, $2) ORDER BY record_key",
		insert: "INSERT INTO " + t +
			" (record_key, body, revision) VALUES ($1, $2, $3) ON CONFLICT (record_key) DO NOTHING",
		update:     "UPDATE " + t + " SET body = $2, revision = $3 WHERE record_key = $1 AND revision = $4",
		generation: "SELECT " + postgresGeneration,
	}
	s.insertIn = "INSERT INTO " + t + " (record_key, body, revision) SELECT $1::text, $2::bytea, $3::text WHERE " +
		postgresGeneration + " = $4 ON CONFLICT (record_key) DO NOTHING"
	s.updateIn = s.update + " AND " + postgresGeneration + " = $5"
	return s
}

// mysqlStatements name arguments by position, so the key comes last in an update; see
// [Store.swap], which gives it first, and the derived table that puts them in order.
func mysqlStatements(table string) statements {
	t := quoted(table, "`")
	const given = "(SELECT ? AS k, ? AS b, ? AS r, ? AS old) AS given"
	const givenIn = "(SELECT ? AS k, ? AS b, ? AS r, ? AS old, ? AS g) AS given"
	return statements{
		create: "CREATE TABLE IF NOT EXISTS " + t + ` (
	record_key varbinary(1000) NOT NULL PRIMARY KEY,
	body mediumblob NOT NULL,
	revision varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = InnoDB`,
		load: "SELECT body, revision FROM " + t + " WHERE record_key = ?",
		list: "SELECT record_key, body, revision FROM " + t +
			" WHERE record_key >= ? AND LOCATE(CAST(? AS BINARY), record_key) = 1 ORDER BY record_key",
		insert: "INSERT INTO " + t +
			" (record_key, body, revision) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE record_key = record_key",
		update: "UPDATE " + t + " AS have JOIN " + given +
			" SET have.body = given.b, have.revision = given.r WHERE have.record_key = given.k AND have.revision = given.old",
		generation: "SELECT " + mysqlGeneration,
		insertIn: "INSERT INTO " + t +
			" (record_key, body, revision) SELECT k, b, r FROM (SELECT ? AS k, ? AS b, ? AS r, ? AS g) AS given WHERE given.g " +
			"= " + mysqlGeneration + " ON DUPLICATE KEY UPDATE record_key = record_key",
		updateIn: "UPDATE " + t + " AS have JOIN " + givenIn +
			" SET have.body = given.b, have.revision = given.r WHERE have.record_key = given.k AND have.revision = given.old " +
			"AND given.g = " + mysqlGeneration,
	}
}

func sqliteStatements(table string) statements {
	t := quoted(table, `"`)
	s := statements{
		create: "CREATE TABLE IF NOT EXISTS " + t + ` (
	record_key TEXT NOT NULL PRIMARY KEY,
	body BLOB NOT NULL,
	revision TEXT NOT NULL
)`,
		load: "SELECT body, revision FROM " + t + " WHERE record_key = ?1",
		list: "SELECT record_key, body, revision FROM " + t +
			" WHERE record_key >= ?1 AND substr(record_key, 1, length(?2)) = ?2 ORDER BY record_key",
		insert: "INSERT INTO " + t +
			" (record_key, body, revision) VALUES (?1, ?2, ?3) ON CONFLICT (record_key) DO NOTHING",
		update:     "UPDATE " + t + " SET body = ?2, revision = ?3 WHERE record_key = ?1 AND revision = ?4",
		generation: "SELECT " + sqliteGeneration,
	}
	s.insertIn = "INSERT INTO " + t + " (record_key, body, revision) SELECT ?1, ?2, ?3 WHERE " + sqliteGeneration +
		" = ?4 ON CONFLICT (record_key) DO NOTHING"
	s.updateIn = s.update + " AND " + sqliteGeneration + " = ?5"
	return s
}

// quoted returns a table's name as an identifier of the dialect, the schema by itself.
func quoted(table, quote string) string {
	parts := strings.Split(table, ".")
	for i, part := range parts {
		parts[i] = quote + strings.ReplaceAll(part, quote, "") + quote
	}
	return strings.Join(parts, ".")
}
