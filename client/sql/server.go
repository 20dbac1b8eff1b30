package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// setting decides whether an acknowledged write survives a crash.
type setting struct {
	query  string
	name   string
	wanted []string // values that keep acknowledged writes
	remedy string
}

func (d Dialect) settings() []setting {
	switch d {
	case MySQL:
		return []setting{
			{"SELECT @@autocommit", "autocommit", []string{"1"}, "leave autocommit on in the connection string"},
			{"SELECT @@innodb_flush_log_at_trx_commit", "innodb_flush_log_at_trx_commit", []string{"1"},
				"set it to 1 on the server"},
		}
	case SQLite:
		return []setting{{"PRAGMA synchronous", "synchronous", []string{"2", "3"},
			"set PRAGMA synchronous = FULL on each connection"}}
	}
	return []setting{
		{"SHOW fsync", "fsync", []string{"on"}, "set it to on on the server"},
		{"SHOW synchronous_commit", "synchronous_commit", []string{"on", "local", "remote_write", "remote_apply"},
			"set it to on for the database user"},
	}
}

// check returns an error for a server that gives acknowledged writes up when it crashes,
// which matches sequencer.ErrInvalidConfig. It asks until it has been answered once.
func (s *Store) check(ctx context.Context) error {
	if s.checked.Load() {
		return nil
	}
	for _, want := range s.dialect.settings() {
		var have string
		if err := s.db.QueryRowContext(ctx, want.query).Scan(&have); err != nil {
			return s.failed("check "+want.name, "", err)
		}
		if !slices.Contains(want.wanted, strings.ToLower(have)) {
			return failure.Errorf(sequencer.ErrInvalidConfig,
				"sql: check: %s = %s: %s loses acknowledged writes when it crashes, so IDs could repeat; %s", want.name, have,
				s.dialect, want.remedy)
		}
	}
	if err := s.noteFile(ctx); err != nil {
		return err
	}
	s.checked.Store(true)
	return nil
}

// Generation implements [store.Generations]. PostgreSQL names its timeline, which each
// promotion raises. MySQL and MariaDB name the server: a replaced server must not
// become the primary again within a window of its replacement. SQLite always has the same one.
//
// lossy is true for PostgreSQL while a standby is connected and replication is
// asynchronous, and for MySQL while it writes a binary log without semi-synchronous
// replication. A standby that is fed by archived files is not seen: state FailoverBound
// then. [Store.WithoutFailover] makes it false.
func (s *Store) Generation(ctx context.Context) (id string, lossy bool, err error) {
	if err := s.usable(); err != nil {
		return "", false, err
	}
	if err := s.check(ctx); err != nil {
		return "", false, err
	}
	if err := s.db.QueryRowContext(ctx, s.text.generation).Scan(&id); err != nil {
		return "", false, s.failed("read the generation", "", err)
	}
	if !s.alone && s.dialect != SQLite {
		lossy, err = s.lossy(ctx)
	}
	return id, lossy, err
}

// lossy reports whether a replica that lacks acknowledged writes may take the server's
// place.
func (s *Store) lossy(ctx context.Context) (bool, error) {
	if s.dialect == MySQL {
		return s.lossyMySQL(ctx)
	}
	var synchronous, commit string
	var standbys int
	const query = `SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit'), (SELECT count(*) FROM pg_stat_replication)`
	if err := s.db.QueryRowContext(ctx, query).Scan(&synchronous, &commit, &standbys); err != nil {
		return false, s.failed("read how standbys are fed", "", err)
	}
	waits := synchronous != "" && commit != "local"
	return standbys > 0 && !waits, nil
}

func (s *Store) lossyMySQL(ctx context.Context) (bool, error) {
	var binlog string
	if err := s.db.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&binlog); err != nil {
		return false, s.failed("read log_bin", "", err)
	}
	if binlog != "1" && !strings.EqualFold(binlog, "on") {
		return false, nil
	}
	// The variable has two names in MySQL, one in MariaDB, and is missing without the plugin.
	rows, err := s.db.QueryContext(ctx,
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('rpl_semi_sync_source_enabled', 'rpl_semi_sync_master_enabled')")
	if err != nil {
		return false, s.failed("read how replicas are fed", "", err)
	}
	defer func() { _ = rows.Close() }()
	lossy := true
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return false, s.failed("read how replicas are fed", "", err)
		}
		if strings.EqualFold(value, "on") || value == "1" {
			lossy = false
		}
	}
	if err := rows.Err(); err != nil {
		return false, s.failed("read how replicas are fed", "", err)
	}
	return lossy, nil
}
