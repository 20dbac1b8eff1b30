package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// counter is a Redis server started for the measurement.
type counter struct {
	server  *process
	dir     string
	addr    string
	version string
}

// startRedis starts a server without persistence. The error matches exec.ErrNotFound
// if PATH has no redis-server.
func startRedis(ctx context.Context) (c *counter, err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	addrs, err := loopback.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addrs[0])
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-redis-")
	if err != nil {
		return nil, err
	}
	p, err := startProcess(exec.Command(path, "--bind", "127.0.0.1", "--port", port,
		"--save", "", "--appendonly", "no", "--dir", dir, "--loglevel", "warning"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c = &counter{server: p, dir: dir, addr: addrs[0]}
	if err := c.await(ctx); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// await returns once the server replies.
func (c *counter) await(ctx context.Context) error {
	client := c.dial(1)
	defer func() { _ = client.Close() }()
	return c.server.await(ctx, func(ctx context.Context) error {
		info, err := client.Info(ctx, "server").Result()
		if err != nil {
			return err
		}
		for line := range strings.Lines(info) {
			if version, found := strings.CutPrefix(line, "redis_version:"); found {
				c.version = strings.TrimSpace(version)
			}
		}
		return nil
	})
}

// dial returns a client with the given number of connections.
func (c *counter) dial(connections int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: c.addr, PoolSize: connections, MinIdleConns: connections,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (c *counter) end() {
	c.server.end()
	_ = os.RemoveAll(c.dir)
}
