package stores

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
)

// server is a real server that a test can kill, stop and start again over its data.
type server interface {
	Kill()
	Restart()
	Signal(s syscall.Signal)
}

// engine is one kind of store over which holders run.
type engine struct {
	name string
	// start starts the server with empty data; addr is where it listens. It skips the
	// test if the server is not installed. nil: a directory, without a server.
	start func(t *testing.T) (s server, addr string)
	// store returns a store whose server is reached at addr.
	store func(t *testing.T, addr string) store.Store
	// dated reports whether the store shows its clock.
	dated bool
	// url returns the address of a holder's store whose server is reached at addr.
	url func(addr string) string
}

var engines = []engine{
	{
		name: "s3", dated: true,
		start: func(t *testing.T) (server, string) {
			s := s3test.Start(t)
			return s, s.Addr
		},
		store: func(_ *testing.T, addr string) store.Store { return s3.New(s3test.Client(addr), s3test.Bucket, "ids/") },
		url:   func(addr string) string { return "s3://" + addr + "/" + s3test.Bucket + "/ids/" },
	},
	{
		name: "etcd", start: startEtcd, store: etcdStore,
		url: func(addr string) string { return "etcd://" + addr + "/ids/" },
	},
	{
		name: "mixed", start: startEtcd, store: mixedStore,
		url: func(addr string) string { return "mixed://" + addr + "/ids/" },
	},
	{name: "postgres", start: startPostgres, store: postgresStore, url: postgresURL},
	{name: "file"},
}

// site is one engine at work: its server, and a way to it for each holder.
type site struct {
	t      *testing.T
	engine engine
	server server // nil for a directory
	addr   string
	dir    string // of a store in a directory
}

// startSite starts an engine's server.
func startSite(t *testing.T, e engine) *site {
	t.Helper()
	s := &site{t: t, engine: e}
	if e.start == nil {
		s.dir = t.TempDir()
		return s
	}
	s.server, s.addr = e.start(t)
	return s
}

// way returns a proxy to the server and the address of the store behind it; the proxy is
// nil for a directory.
func (s *site) way() (*faultproxy.Proxy, string) {
	s.t.Helper()
	if s.server == nil {
		return nil, "file:" + s.dir
	}
	p, err := faultproxy.Start(s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.Close)
	return p, s.engine.url(p.Addr())
}

// store returns the store past any proxy.
func (s *site) store() store.Store {
	s.t.Helper()
	if s.server != nil {
		return s.engine.store(s.t, s.addr)
	}
	f, err := store.OpenFile(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// daemon is a server as a child process.
type daemon struct {
	t     *testing.T
	run   func() *exec.Cmd
	ready func(ctx context.Context) error
	cmd   *exec.Cmd
	log   bytes.Buffer
}

// Restart implements server.
func (d *daemon) Restart() {
	d.t.Helper()
	d.log.Reset()
	d.cmd = d.run()
	d.cmd.Stdout, d.cmd.Stderr = &d.log, &d.log
	if d.cmd.SysProcAttr == nil {
		d.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	d.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for err := d.ready(ctx); err != nil; err = d.ready(ctx) {
		if ctx.Err() != nil {
			d.Kill()
			d.t.Fatalf("%s does not answer: %v; its log:\n%s", d.cmd.Path, err, d.log.Bytes())
		}
		time.Sleep(20 * time.Millisecond) // a starting server tells nothing but by its port
	}
}

// Kill implements server.
func (d *daemon) Kill() {
	if d.cmd != nil && d.cmd.ProcessState == nil {
		d.Signal(syscall.SIGKILL)
		_ = d.cmd.Wait()
	}
}

// Signal implements server. PostgreSQL has a process for each connection, so children get
// the signal too, after their parent.
func (d *daemon) Signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Error(err)
	}
	for _, pid := range children(d.cmd.Process.Pid) {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// children returns the processes whose parent is pid.
func children(pid int) (found []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name before it may have spaces
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			found = append(found, child)
		}
	}
	return found
}

// find returns the path of a program: in PATH, or in directories of Debian.
func find(t *testing.T, name, dirs, pkg string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dirs, name))
	if path, err := exec.LookPath(name); err == nil && len(found) == 0 {
		return path
	}
	if len(found) == 0 {
		t.Skipf("%s is not installed; on Debian: apt-get install %s", name, pkg)
	}
	return slices.Max(found)
}

// startEtcd starts one etcd server.
func startEtcd(t *testing.T) (server, string) {
	t.Helper()
	binary := find(t, "etcd", "/usr/bin", "etcd-server")
	dir, addr, peer := t.TempDir(), s3test.FreeAddr(t), s3test.FreeAddr(t)
	d := &daemon{t: t, run: func() *exec.Cmd {
		return exec.Command(binary, "--name", "s", "--data-dir", dir, "--logger", "zap", "--log-level", "error",
			"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
			"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster",
			"s=http://"+peer)
	}}
	d.ready = func(ctx context.Context) error {
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/health", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	}
	t.Cleanup(d.Kill)
	d.Restart()
	return d, addr
}

func etcdStore(t *testing.T, addr string) store.Store {
	t.Helper()
	return etcd.New(etcdClient(t, addr), etcd.Config{Prefix: "/ids/"})
}

func mixedStore(t *testing.T, addr string) store.Store {
	t.Helper()
	return mixed.New(etcdClient(t, addr), mixed.Config{Prefix: "/ids/"})
}

func etcdClient(t *testing.T, addr string) *clientv3.Client {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

func postgresURL(addr string) string {
	return "postgres://tester@" + addr + "/postgres?sslmode=disable&connect_timeout=2"
}

func postgresStore(t *testing.T, addr string) store.Store {
	t.Helper()
	db, err := sql.Open("pgx", postgresURL(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return storesql.New(db, storesql.PostgreSQL, "snowgrid")
}

// startPostgres starts PostgreSQL, as its own user if this one is root.
func startPostgres(t *testing.T) (server, string) {
	t.Helper()
	const dirs = "/usr/lib/postgresql/*/bin"
	initdb, postgres := find(t, "initdb", dirs, "postgresql"), find(t, "postgres", dirs, "postgresql")
	dir, err := os.MkdirTemp("", "snowgrid-pg") // t.TempDir lies below a directory that only this user enters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var as *syscall.Credential
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("PostgreSQL does not run as root, and the user postgres does not exist")
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = os.TempDir()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	if out, err := command(initdb, "-D", dir, "-U", "tester", "-A", "trust", "-E", "UTF8",
		"--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	addr := s3test.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	db, err := sql.Open("pgx", postgresURL(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := &daemon{t: t, ready: db.PingContext, run: func() *exec.Cmd {
		// Each holder may have several connections, and the killed ones' linger.
		return command(postgres, "-D", dir, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "max_connections=400")
	}}
	t.Cleanup(d.Kill)
	d.Restart()
	return d, addr
}

func (e engine) String() string { return fmt.Sprintf("store %s", e.name) }
