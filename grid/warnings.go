package grid

import (
	"log/slog"

	"github.com/snowgrid/snowgrid/internal/logqueue"
)

// warn logs the limits of a configuration once.
func (m *Member) warn() {
	if m.cfg.FirstLife {
		m.log.Warn(
			"FirstLife is set: it holds for the first start only; remove it from the configuration before the next start; " +
				"while a process from an earlier run still issues IDs, equal IDs result. To set it for one start, use `snowgrid " +
				"init --first-life`")
	}
	if !m.lone && !m.durable() && m.cfg.Anchor == nil {
		m.log.Warn("this member stores nothing on disk: a grid that loses all such members restarts only by the clocks of " +
			"its next members; " +
			"set DataDir (--data-dir), or see RELIABILITY.md, Not promised")
	}
	if m.cfg.Debug {
		m.log.Warn("Debug (--debug) is set: any process on this machine can pause this member or end it; unset it in " +
			"production")
	}
	if m.lone && m.cfg.Anchor == nil {
		log := m.log
		if m.quiet { // equal IDs are worse than an unexpected log line
			log = logqueue.Logger(slog.Default())
		}
		log.Warn("this member runs alone and no other member can join it: other processes that run alone can issue equal " +
			"IDs; set Expect (--expect) or Join (--join) to form a grid")
	}
	if !m.lone && m.cfg.isExposed(len(m.creds.gossipKeys()) > 0) {
		m.log.Warn("Security.Insecure (--insecure) is set: the member listens beyond loopback without certificates or " +
			"without a gossip key, and any process that reaches it can take " +
			"logical nodes, destroy sequencers and end the grid; make certificates with `snowgrid secure init`")
	}
}
