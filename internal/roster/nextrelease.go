//go:build nextrelease

package roster

const (
	// Protocol2 adds a note, for tests of upgrades.
	Protocol2 Protocol = 2

	// CurrentProtocol is the latest protocol that this release reads.
	CurrentProtocol = Protocol2
)

// Upcoming has the parts that protocol 2 adds to [Settings] and [Change].
type Upcoming struct {
	// Note is any text. In a change "" leaves it, and "-" removes it.
	Note string `json:"note,omitempty"`
}

// needs returns the protocol that is required to read the parts, and the first part that requires
// it.
func (u Upcoming) needs() (Protocol, string) {
	if u.Note != "" {
		return Protocol2, "the note"
	}
	return Protocol1, ""
}

// After returns the parts after a change with the new values c.
func (u Upcoming) After(c Upcoming) Upcoming {
	switch c.Note {
	case "":
		return u
	case "-":
		return Upcoming{}
	}
	return c
}

// Beyond returns the parts that differ from the current ones.
func (u Upcoming) Beyond(now Upcoming) Upcoming {
	if now.After(u) == now {
		return Upcoming{}
	}
	return u
}
