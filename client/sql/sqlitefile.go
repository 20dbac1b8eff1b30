package sql

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// sqliteFile is a SQLite database's file when this process first checked it. An open connection keeps a removed file,
// in WAL mode without an error, while other processes create another store at its path.
type sqliteFile struct {
	path string
	info os.FileInfo
}

// noteFile records the database's file. A database in memory has none.
func (s *Store) noteFile(ctx context.Context) error {
	if s.dialect != SQLite {
		return nil
	}
	schema, _, found := strings.Cut(s.table, ".")
	if !found {
		schema = "main"
	}
	var path string
	err := s.db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = ?1 COLLATE NOCASE", schema).
		Scan(&path)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s.failed("find its file", "", err)
	}
	if info, err := os.Stat(path); err == nil {
		s.file.CompareAndSwap(nil, &sqliteFile{path: path, info: info})
	}
	return nil
}

// replaced returns an error if the database's file is no longer the one at its path: then a row that is missing is no
// proof that it was deleted, and other processes may have another store there.
func (s *Store) replaced() error {
	file := s.file.Load()
	if file == nil {
		return nil
	}
	present, err := os.Stat(file.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(file.info, present):
		return s.failed("look at "+file.path, "", errReplaced)
	case err != nil:
		return s.failed("look for its file", "", err)
	}
	return nil
}

var errReplaced = errors.New("the file was removed or replaced since this process opened it; put it back, or restart " +
	"this process")
