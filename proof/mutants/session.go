package main

// sessionMutants weaken the machine that renews, replaces and gives back the logical
// nodes of a process.
var sessionMutants = []mutant{
	{"H5", "an answer to a claim extends the attachment held now", "internal/session/renew.go",
		"m.extend(now, h, stamp, shown.ID, a.Grant)", "held, _ := h.Control.Held()\n			m.extend(now, h, stamp, held.ID, a.Grant)", sessionTests},
	{"H2", "a set is extended from where nothing was granted", "internal/session/renew.go", "Grant{From: shown.Grant.From, Until: until}", "Grant{From: 0, Until: until}", sessionTests},
	{"S2", "a claim does not show how far it was granted", "internal/session/handle.go", ", Until: a.Grant.Until,", ",", sessionTests},
	{"O6", "an answer that was overtaken makes a life look older", "internal/session/handle.go", "s.Grid != h.answered.Grid || s.Version >= h.answered.Version", "s.Version < 1<<63", sessionTests},
	{"session", "the end of a life ends the handles on all lives of its name", "internal/session/session.go", "h.Control.Ref().Life == life {", "h.Control.Ref().Life != (sequencer.Life{}) {", sessionTests},
	{"session", "a claim on a destroyed life ends no handle", "internal/session/renew.go", "		m.Ended(h.name, h.Control.Ref().Life)\n", "		h.failures = 0\n", sessionTests},
	{"session", "what an owner does not know is not shown to it", "internal/session/renew.go", "		if a.Sets[i] == 0 {\n			r.rest = append(r.rest, s.handles...)\n", "		if a.Sets[i] == 0 {\n			h := s.handles[0]\n			h.failures = 0\n", sessionTests},
	{"session", "a renewal that failed is the last at its owner", "internal/session/renew.go", "		delete(m.calling, r.Owner)\n		m.failed(", "		m.failed(", sessionTests},
	{"session", "the pause of an owner that is gone holds up the renewal at the next one", "internal/session/directory.go", "		m.tryNewOwners(now)\n", "", sessionTests},
	{"session", "a failed renewal does not look the owner up", "internal/session/renew.go", "failures >= silentTries {", "failures > 1000 {", sessionTests},
	{"session", "a lost logical node is not replaced", "internal/session/renew.go", "		m.lost(h, shown.ID)\n", "		h.failures = 0\n", sessionTests},
	{"session", "a logical node is replaced once in a handle's life", "internal/session/lost.go", "h.loss, h.busy = nil, false", "h.loss = nil", sessionTests},
	{"session", "a directory is never asked for again", "internal/session/directory.go", "return m.asked >= 0 && m.asked > mono", "return m.asked >= 0", sessionTests},
	{"session", "an older directory takes the place of a newer one", "internal/session/directory.go", "m.directory.Version <= d.Version", "m.directory.Version > 0", sessionTests},
	{"session", "an answer by a newer roster looks nothing up", "internal/session/directory.go", "if !known || m.directory.Version < s.Version {", "if !known {", sessionTests},
	{"session", "an old answer tells the time", "internal/session/directory.go", "known && now.Mono-began <= StaleAnswer && s.Time > 0", "known && s.Time > 0", sessionTests},
	{"session", "an idle handle is detached once in its life", "internal/session/handle.go", "{ h.busy = false }", "{ h.failures = 0 }", sessionTests},
	{"session", "a wrong owner ends a call", "internal/session/call.go", "if errors.Is(err, sentinel) {", "if errors.Is(err, sentinel) && sentinel != roster.ErrWrongOwner {", sessionTests},
	{"session", "a stream that stands has nothing renewed", "internal/session/stream.go", "			h.next = 0\n", "			h.failures = 0\n", sessionTests},
	{"states", "a handle that lost its node stays Attached", "internal/session/lost.go", "now.Time >= held.Grant.Until {", "now.Time < 0 {", sessionTests},
	{"states", "a handle that lost its node tries only once for another", "internal/session/lost.go", "if !l.trying && l.next <= now.Mono {", "if l.try == 0 {", sessionTests},
	{"session", "an owner that grants less and less is not looked up", "internal/session/renew.go", "		m.lookUp(now.Mono - m.window()/8)\n", "", sessionTests},
	{"overload", "the first time-out asks for the directory", "internal/session/renew.go", "!TimedOut(err) || failures", "TimedOut(err) || failures", sessionTests},
	{"overload", "failures do not lengthen the pause between renewals", "internal/session/renew.go", "RetryAfter<<h.failures", "RetryAfter", sessionTests},
}

// sessionUnseen are those that the simulation may not kill in its usual time, and why.
var sessionUnseen = map[string]string{
	"a claim does not show how far it was granted":                              "no grid of the simulation has had an earlier life",
	"an answer that was overtaken makes a life look older":                      "an overtaken answer, a loss and a destroy would have to coincide",
	"a failed renewal does not look the owner up":                               "a renewal that failed otherwise does, and so do the calls of users",
	"a logical node is replaced once in a handle's life":                        "few handles lose two logical nodes before their user or their life ends them",
	"an older directory takes the place of a newer one":                         "a wrong owner leads to the next look-up",
	"an answer by a newer roster looks nothing up":                              "a wrong owner leads to a look-up",
	"an old answer tells the time":                                              "calls end before their answers are that old",
	"the first stream has everything renewed":                                   "it costs calls, and no ID",
	"a stream that breaks and stands has nothing renewed":                       "renewals tell of the end of a life a little later",
	"handles that were not due when others were renewed are renewed again soon": "it costs calls, and no ID",
	"a stream that stands has nothing renewed":                                  "renewals tell of the end of a life a little later",
	"a handle that lost its node stays Attached":                                "it waits for a grant all the same",
	"a handle that lost its node tries only once for another":                   "its tries last for a window, and nodes are free before that",
	"the first time-out asks for the directory":                                 "it costs calls, and no ID",
	"failures do not lengthen the pause between renewals":                       "it costs calls, and no ID",
}
