//go:build unix

// Package sqltest runs database servers for tests: PostgreSQL and MariaDB on loopback, and SQLite. It skips a test
// without the server that it needs. The test imports the drivers: pgx, mysql and sqlite.
package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// Server is a database server on loopback, in a temporary directory.
type Server struct {
	Dir    string // of its data
	Port   int
	Driver string // name of the driver in database/sql
	DSN    string // address, in the form of the driver

	t   testing.TB
	run func() *exec.Cmd
	cmd *exec.Cmd
	log bytes.Buffer
}

// Start runs the server and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = s.run()
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	db := s.Open()
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			s.t.Fatalf("the server does not answer: %v\n%s", err, s.log.Bytes())
		}
		time.Sleep(20 * time.Millisecond) // a starting server tells nothing but by its port
	}
}

// Kill ends the server without a chance to write anything.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Open returns a pool of connections.
func (s *Server) Open() *sql.DB {
	db, err := sql.Open(s.Driver, s.DSN)
	if err != nil {
		s.t.Fatal(err)
	}
	// The default of two makes a server fork for most calls of many clients, and a renewal late.
	db.SetMaxIdleConns(idleMax)
	s.t.Cleanup(func() { _ = db.Close() })
	return db
}

// idleMax is below the connections that a server of a test accepts.
const idleMax = 64

func find(name string, dirs ...string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range dirs {
		found, _ := filepath.Glob(filepath.Join(pattern, name))
		if len(found) > 0 {
			return slices.Max(found)
		}
	}
	return ""
}

// postgresDirs are the directories in which Debian has the programs of PostgreSQL.
const postgresDirs = "/usr/lib/postgresql/*/bin"

// StartPostgres runs a new PostgreSQL server with more settings.
func StartPostgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	dir := PostgresDir(t)
	initdb := PostgresProgram("initdb", "-D", dir, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	return RunPostgres(t, dir, settings...)
}

// PostgresDir returns an empty directory of the user that PostgreSQL runs as.
func PostgresDir(t testing.TB) string {
	t.Helper()
	if find("postgres", postgresDirs) == "" || find("initdb", postgresDirs) == "" {
		t.Skip("skipped: no PostgreSQL server is installed; on Debian: apt-get install postgresql")
	}
	dir, err := os.MkdirTemp("", "snowgrid-pg") // t.TempDir lies below a directory that only this user enters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("skipped: PostgreSQL does not run as root, and the user postgres does not exist")
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory has to be entered
		t.Fatal(err)
	}
	return dir
}

// PostgresProgram returns a command that runs a program of PostgreSQL, as the user postgres if this one is root.
func PostgresProgram(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(find(name, postgresDirs), args...) //nolint:gosec // a program of the machine
	cmd.Dir = os.TempDir()
	if u, err := user.Lookup("postgres"); err == nil && os.Getuid() == 0 {
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	return cmd
}

// RunPostgres runs a server on a directory that is there.
func RunPostgres(t testing.TB, dir string, settings ...string) *Server {
	t.Helper()
	port := freePort(t)
	s := &Server{
		t: t, Dir: dir, Port: port, Driver: "pgx",
		DSN: fmt.Sprintf("postgres://tester@127.0.0.1:%d/postgres?sslmode=disable", port),
	}
	s.run = func() *exec.Cmd {
		args := []string{"-D", dir, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c",
			"unix_socket_directories=", "-c", "max_connections=200"}
		for _, setting := range settings {
			args = append(args, "-c", setting)
		}
		return PostgresProgram("postgres", args...)
	}
	t.Cleanup(s.Kill)
	s.Start()
	return s
}

// StartMariaDB runs a new MariaDB server with more settings.
func StartMariaDB(t testing.TB, settings ...string) *Server {
	t.Helper()
	daemon, install := find("mariadbd", "/usr/sbin"), find("mariadb-install-db", "/usr/bin")
	if daemon == "" || install == "" {
		t.Skip("skipped: no MariaDB server is installed; on Debian: apt-get install mariadb-server")
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), freePort(t)
	init := exec.CommandContext(t.Context(), install, "--no-defaults", "--user="+u.Username, "--datadir="+dir,
		"--auth-root-authentication-method=normal", "--skip-test-db") //nolint:gosec // a program of the machine
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	s := &Server{
		t: t, Dir: dir, Port: port, Driver: "mysql", DSN: fmt.Sprintf("root@tcp(127.0.0.1:%d)/mysql", port),
	}
	s.run = func() *exec.Cmd {
		args := []string{
			"--no-defaults", "--user=" + u.Username, "--datadir=" + dir, "--port=" + strconv.Itoa(port),
			"--bind-address=127.0.0.1",
			"--socket=" + filepath.Join(dir, "s"), "--pid-file=" + filepath.Join(dir, "pid"), "--max-connections=200",
		}
		for _, setting := range settings {
			args = append(args, "--"+setting)
		}
		return exec.Command(daemon, args...) //nolint:gosec // a program of the machine
	}
	t.Cleanup(s.Kill)
	s.Start()
	return s
}

// OpenSQLite returns a new database in a file, opened as the package documentation says.
func OpenSQLite(t testing.TB, pragmas string) *sql.DB {
	t.Helper()
	s := &Server{t: t, Driver: "sqlite", DSN: "file:" + filepath.Join(t.TempDir(), "ids.db") +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" + pragmas}
	db := s.Open()
	db.SetMaxOpenConns(1)
	return db
}

// freePort returns a port of loopback that nothing listens on.
func freePort(t testing.TB) int {
	t.Helper()
	addrs, err := loopback.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := netip.ParseAddrPort(addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	return int(addr.Port())
}
