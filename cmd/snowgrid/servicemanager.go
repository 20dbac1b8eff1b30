package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// serviceManager tells the service manager that started the agent, systemd with
// Type=notify, how far the agent is. Without one (no NOTIFY_SOCKET) it does nothing.
type serviceManager struct {
	logger *slog.Logger

	mu     sync.Mutex // held during a message of ready, reload or stopping
	serves bool       // between ready and stopping
}

// ready says that the agent serves, and status for people.
func (m *serviceManager) ready(status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serves = true
	m.notify(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

// status says for people how far the agent is.
func (m *serviceManager) status(status string) { m.notify("STATUS=" + status) }

// stopping says that the agent is on its way to the end.
func (m *serviceManager) stopping(status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serves = false
	m.notify(daemon.SdNotifyStopping + "\nSTATUS=" + status)
}

// reload calls read, and says before and after that an agent which serves reloads.
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

// watch tells the service manager that the agent works, twice in each interval of
// WatchdogSec, until ctx ends. Before each message it calls probe; while that hangs no
// message is sent, and the service manager restarts the agent.
func (m *serviceManager) watch(ctx context.Context, probe func()) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.logger.Warn("WATCHDOG_USEC or WATCHDOG_PID cannot be read; the service manager will see no sign of life", "error", err)
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
		m.logger.Warn("the service manager cannot be told of the agent's state", "state", state, "error", err)
	}
}
