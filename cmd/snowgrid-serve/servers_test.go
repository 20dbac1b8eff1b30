package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// findProgram returns a program's path, in PATH or one of some directories, or skips the test.
func findProgram(t *testing.T, name, install string, dirs ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range dirs {
		if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skipf("skipped: %s is not installed; run: %s", name, install)
	return ""
}

// freePort returns a port of loopback that nothing listens on.
func freePort(t *testing.T) int {
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

// runServer runs a server until the end of the test, and waits until it listens.
func runServer(t *testing.T, port int, cmd *exec.Cmd) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd.Path, log.String())
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on %d: %v", cmd.Path, port, err)
		}
		time.Sleep(20 * time.Millisecond) // no event tells of a listener in another process
	}
}

// configured writes a configuration file and returns the flag.
func configured(t *testing.T, config map[string]any) string {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return "--config=" + file
}

// TestOverEtcd uses a URL, and then the configuration of the snowflake service on etcd in its place, with
// its IDs (rows E13, E14, E16).
func TestOverEtcd(t *testing.T) {
	program := findProgram(t, "etcd", "apt-get install etcd-server")
	port, peer := freePort(t), freePort(t)
	client, peers := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peer)
	runServer(t, port, exec.Command(program, "--name", "s", "--data-dir", t.TempDir(), "--listen-client-urls", client,
		"--advertise-client-urls", client, //nolint:gosec // a program of the machine
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "s="+peers,
		"--heartbeat-interval", "50", "--election-timeout", "250", "--log-level", "error"))
	checkStore(t, "etcd://127.0.0.1", "--store="+fmt.Sprintf("etcd://127.0.0.1:%d/ids", port), "--window=2s",
		"--max-server-cnt=3")
	checkStore(t, "etcd://127.0.0.1", configured(t, map[string]any{
		"etcd_endpoints": []string{fmt.Sprintf("127.0.0.1:%d", port)}, "etcd_prefix": "/i3d/", "etcd_username": "",
		"etcd_password": "", "max_server_cnt": 3, "etcd_mixed": true,
	}), "--window=2s", "--layout=63/22/1024", "--epoch=1970-01-01")
	args := []string{"status", "--etcd-prefix=/i3d/", fmt.Sprintf("--store=etcd://127.0.0.1:%d", port)}
	if code, out, errs := command(t, args...); code != exitFailed || !strings.Contains(errs, "give --etcd-mixed") {
		t.Errorf("a plain store over the keys of workers: %d %s %s", code, out, errs)
	}
}

// TestOverS3 uses the configuration of Zeebe's dynamic node IDs (row Z27).
func TestOverS3(t *testing.T) {
	home, _ := exec.Command("go", "env", "GOPATH").Output()
	program := findProgram(t, "versitygw", "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0",
		filepath.Join(strings.TrimSpace(string(home)), "bin"))
	port, dir := freePort(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ids"), 0o755); err != nil { //nolint:gosec // the server's bucket
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	runServer(t, port, exec.Command(program, "--quiet", "--port", addr, "--access", "a", "--secret", "s", "--region",
		"us-east-1", "posix", dir)) //nolint:gosec // a program of the machine
	config := func(bucket string) string {
		return configured(t, map[string]any{"type": "s3", "max_server_cnt": 3, "s3": map[string]any{
			"bucketName": bucket, "leaseDuration": "PT2S", "endpoint": "http://" + addr, "region": "us-east-1", "accessKey": "a",
			"secretKey":      "s",
			"apiCallTimeout": "1s", "leaseAcquireMaxDelay": "1s", "readinessCheckTimeout": "3s",
		}})
	}
	checkStore(t, "s3://ids/", config("ids"))
	if code, _, errs := command(t, "serve", config("missing"), "--http-addr=127.0.0.1:0",
		"--grpc-addr=none"); code != exitFailed || !strings.Contains(errs, "missing") {
		t.Errorf("a bucket that does not exist: %d %s", code, errs)
	}
}

func TestOverSQLite(t *testing.T) {
	checkStore(t, "sqlite:", "--store=sqlite:"+filepath.Join(t.TempDir(), "ids.db"), "--window=2s", "--max-server-cnt=3")
}

func TestOverPostgres(t *testing.T) {
	const install, dirs = "apt-get install postgresql", "/usr/lib/postgresql/*/bin"
	program, initdb := findProgram(t, "postgres", install, dirs), findProgram(t, "initdb", install, dirs)
	dir, err := os.MkdirTemp("", "snowgrid-pg") // t.TempDir lies below a directory that only this user enters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := freePort(t)
	init := exec.Command(initdb, "-D", filepath.Join(dir, "data"), "-U", "tester", "-A", "trust",
		"--no-sync") //nolint:gosec // a program of the machine
	server := exec.Command(program, "-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port), "-c",
		"listen_addresses=127.0.0.1", "-c", "unix_socket_directories=") //nolint:gosec // a program of the machine
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
		for _, cmd := range []*exec.Cmd{init, server} {
			cmd.Dir = os.TempDir()
			//nolint:gosec // of a user that is there
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}
	}
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	runServer(t, port, server)
	checkStore(t, "postgres://127.0.0.1",
		fmt.Sprintf("--store=postgres://tester@127.0.0.1:%d/postgres?sslmode=disable&table=ids", port), "--window=2s",
		"--max-server-cnt=3", "--failover-bound=2s")
}

func TestOverMariaDB(t *testing.T) {
	const install = "apt-get install mariadb-server"
	program, initdb := findProgram(t, "mariadbd", install, "/usr/sbin"),
		findProgram(t, "mariadb-install-db", install, "/usr/bin")
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), freePort(t)
	init := exec.Command(initdb, "--no-defaults", "--user="+u.Username, "--datadir="+dir,
		"--auth-root-authentication-method=normal", "--skip-test-db") //nolint:gosec // a program of the machine
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	runServer(t, port, exec.Command(program, "--no-defaults", "--user="+u.Username, "--datadir="+dir,
		"--port="+strconv.Itoa(port), //nolint:gosec // a program of the machine
		"--bind-address=127.0.0.1", "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid")))
	checkStore(t, "mysql://127.0.0.1", fmt.Sprintf("--store=mysql://root@127.0.0.1:%d/mysql?table=ids&no_failover=true",
		port), "--window=2s", "--max-server-cnt=3")
}

// checkStore has three processes share a store with three logical nodes. A fourth is not ready
// until one of them is killed. No ID is given twice.
func checkStore(t *testing.T, name string, args ...string) {
	t.Helper()
	seen, nodes := unique{}, map[string]bool{}
	var holders []*process
	for range 3 {
		p := start(t, args...)
		p.ready()
		holders = append(holders, p)
	}
	for _, p := range holders {
		seen.add(t, p.ids(`{"n":1024}`)...)
		_, metrics := p.get("/metrics")
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, "snowgrid_logical_node{") {
				nodes[line] = true
			}
		}
		stream, err := p.dial().NextMultipleIDs(t.Context(), wrapperspb.UInt32(1024))
		if err != nil {
			t.Fatal(err)
		}
		for range 1024 {
			id, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			seen.add(t, strconv.FormatInt(id.GetId(), 10))
		}
	}
	if len(nodes) != 3 {
		t.Errorf("three holders have the nodes %v", nodes)
	}
	fourth := start(t, args...)
	if code, text := fourth.get("/ready"); code != 400 {
		t.Errorf("ready without a node: %d %s", code, text)
	}
	holders[0].kill()
	fourth.ready()
	seen.add(t, fourth.ids(`{"n":1024}`)...)
	seen.add(t, holders[1].ids(`{"n":1024}`)...)
	code, out, errs := command(t, append([]string{"status", "default"}, storeArgs(args)...)...)
	if code != 0 || !strings.Contains(out, "store "+name) || strings.Count(out, "held") != 3 ||
		!strings.Contains(out, "3 in use") {
		t.Errorf("%d %s\n%s", code, errs, out)
	}
	for _, p := range []*process{holders[1], holders[2], fourth} {
		p.stop()
	}
	code, out, errs = command(t, append([]string{"status", "default"}, storeArgs(args)...)...)
	if code != 0 || strings.Count(out, "free") != 3 {
		t.Errorf("after all have left: %d %s\n%s", code, errs, out)
	}
	t.Logf("%d IDs\n%s", len(seen), out)
}

// storeArgs returns the flags that name the store.
func storeArgs(args []string) (out []string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "--store") || strings.HasPrefix(arg, "--config") {
			out = append(out, arg)
		}
	}
	return out
}
