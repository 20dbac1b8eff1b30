package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// serviceManager reports the agent's state to the service manager that started it: systemd with
// Type=notify. It does nothing without NOTIFY_SOCKET.
type serviceManager struct {
	logger *slog.Logger

	mu     sync.Mutex // held during a message of ready, reload or stopping
	serves bool       // between ready and stopping
}

// ready reports that the agent serves, with a readable status.
func (m *serviceManager) ready(status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serves = true
	m.notify(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

func (m *serviceManager) status(status string) { m.notify("STATUS=" + status) }

// stopping reports that the agent is shutting down.
func (m *serviceManager) stopping(status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serves = false
	m.notify(daemon.SdNotifyStopping + "\nSTATUS=" + status)
}

// reload calls read, and reports a serving agent's reload before and after it.
func (m *serviceManager) reload(read func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.serves {
		read()
		return
	}
	m.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	read()
	m.notify(daemon.SdNotifyReady)
}

// watch sends a keep-alive twice per WatchdogSec interval until ctx ends. It calls probe before each
// message; while probe hangs no message is sent, and the service manager restarts the agent.
func (m *serviceManager) watch(ctx context.Context, probe func()) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.logger.Warn("WATCHDOG_USEC or WATCHDOG_PID cannot be read; the service manager receives no keepalives",
			"error", err)
		return
	}
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval / 2)
	defer ticker.Stop()
	for {
		probe()
		if ctx.Err() != nil {
			return
		}
		m.notify(daemon.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (m *serviceManager) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.logger.Warn("sd_notify failed", "state", state, "error", err)
	}
}
