package authority

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/snowgrid/snowgrid/security"
)

// Comments in gossip.keys that mark the steps of a rotation.
const (
	nextMark    = "# next: the following key encrypts after another snowgrid secure rotate gossip"
	earlierMark = "# earlier: snowgrid secure rotate gossip --finish removes the following keys"
)

// GossipStep is a step in a rotation of gossip keys.
type GossipStep int

// The steps before FinishGossip. All members need the keys from one step before the next.
const (
	GossipAdded GossipStep = iota // a new key is accepted
	GossipUsed                    // the new key encrypts
)

// RotateGossip performs the next step of a rotation: it adds a key, or makes the added key the
// encrypting one.
func (d *Directory) RotateGossip() (GossipStep, error) {
	f, err := d.gossipFile()
	switch {
	case err != nil:
		return 0, err
	case f.next != "":
		return GossipUsed, f.write(d, f.next, earlierMark, f.keys...)
	case len(f.keys) > 1:
		return 0,
			fmt.Errorf("%w: %s has %d keys, of which the first encrypts; end the rotation with snowgrid secure rotate gossip "+
				"--finish", security.ErrInvalid, security.GossipKeysFile, len(f.keys))
	}
	return GossipAdded, f.write(d, f.keys[0], nextMark, strings.TrimSpace(string(newGossipKey())))
}

// FinishGossip removes all keys except the encrypting one.
func (d *Directory) FinishGossip() error {
	f, err := d.gossipFile()
	switch {
	case err != nil:
		return err
	case f.next != "":
		return fmt.Errorf("%w: the new key does not encrypt yet; run snowgrid secure rotate gossip once more when every "+
			"member has the present file", security.ErrInvalid)
	case len(f.keys) < 2:
		return fmt.Errorf("%w: no rotation of the gossip's keys is in progress; begin one with snowgrid secure rotate gossip",
			security.ErrInvalid)
	}
	return f.write(d, f.keys[0], "")
}

// gossipFile is the content of gossip.keys.
type gossipFile struct {
	head []string // comments at its beginning
	keys []string // the first encrypts
	next string   // a key that is not among keys: it encrypts after the next step
}

func (d *Directory) gossipFile() (f gossipFile, err error) {
	text, err := os.ReadFile(filepath.Join(d.path, security.GossipKeysFile))
	if err != nil {
		return f, fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	marked := false
	for _, line := range strings.Split(string(text), "\n") {
		switch line = strings.TrimSpace(line); {
		case line == nextMark:
			marked = true
		case line == "" || line == earlierMark:
		case strings.HasPrefix(line, "#"):
			if len(f.keys) == 0 {
				f.head = append(f.head, line)
			}
		case marked && f.next == "":
			f.next = line
		default:
			f.keys = append(f.keys, line)
		}
	}
	if len(f.keys) == 0 {
		return f, fmt.Errorf("%w: %s has no key; give it one, 32 random bytes in base64", security.ErrInvalid,
			security.GossipKeysFile)
	}
	return f, nil
}

// write writes the file: a key that encrypts, a comment, and further keys.
func (f gossipFile) write(d *Directory, first, mark string, more ...string) error {
	lines := append(f.head, first)
	if mark != "" {
		lines = append(lines, mark)
	}
	lines = append(lines, more...)
	return d.replaceAll(file{security.GossipKeysFile, []byte(strings.Join(lines, "\n") + "\n")})
}
