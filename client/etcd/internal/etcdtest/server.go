package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// errMissing means that PATH has no etcd.
var errMissing = errors.New("etcd is not in PATH; apt-get install etcd-server")

const readyWithin = 30 * time.Second

// Server is one etcd server, a cluster by itself: a process of its own on loopback.
type Server struct {
	Addr string // host:port for clients
	dir  string
	args []string
	cmd  *exec.Cmd
	// alive is closed to end the server; it also closes when this process ends, so no
	// server outlives a test that was killed.
	alive io.Closer
}

// start starts a server with a data directory in dir, and waits until it has a leader. Its
// election timeout is short, so that leases of one second are possible.
//
// Errors: errMissing.
func start(ctx context.Context, dir string) (*Server, error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, errMissing
	}
	addrs, err := loopback.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	client, peer := "http://"+addrs[0], "http://"+addrs[1]
	s := &Server{Addr: addrs[0], dir: dir, args: []string{
		path, "--name", "s", "--data-dir", filepath.Join(dir, "data"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "s=" + peer,
		"--heartbeat-interval", "50", "--election-timeout", "250", "--logger", "zap", "--log-level", "error",
	}}
	return s, s.Restart(ctx)
}

// Restart starts the server again, with the same address and data, after Kill.
func (s *Server) Restart(ctx context.Context) error {
	script := `"$@" >>"$LOG" 2>&1 & read end; kill -9 $!; wait $!`
	s.cmd = exec.Command("sh", append([]string{"-c", script, "sh"}, s.args...)...) //nolint:gosec // the server to test
	s.cmd.Env = append(os.Environ(), "LOG="+filepath.Join(s.dir, "etcd.log"))
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.alive = in
	if err := s.await(ctx); err != nil {
		s.Kill()
		return fmt.Errorf("start etcd: %w", err)
	}
	return nil
}

func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	c, err := s.Client(clientv3.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for {
		try, end := context.WithTimeout(ctx, time.Second)
		// A status needs no permission, which other calls may need by now.
		status, err := c.Status(try, s.Addr)
		end()
		if err == nil && status.Leader != 0 {
			return nil
		}
		if !signal.Sleep(ctx, 20*time.Millisecond) {
			return errors.Join(err, s.log())
		}
	}
}

// log returns the end of the server's output, as an error.
func (s *Server) log() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "etcd.log"))
	if err != nil {
		return err
	}
	return fmt.Errorf("etcd wrote: %s", text[max(0, len(text)-2000):])
}

// Client returns a client of the server, with further settings.
func (s *Server) Client(cfg clientv3.Config) (*clientv3.Client, error) {
	cfg.Endpoints = []string{s.Addr}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	return clientv3.New(cfg)
}

// Kill ends the server without warning, and waits until it has ended.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.alive.Close()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
