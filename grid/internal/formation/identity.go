package formation

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Identity identifies a member. With a data directory it is stored in one file, which is
// replaced atomically.
type Identity struct {
	Member roster.MemberID `json:"member"`
	// Grid is the grid this member belongs to, zero before it has joined or
	// formed one. A member that belongs to a grid never forms another.
	Grid roster.GridID `json:"grid"`
	// Forming is set while this member forms Grid and the roster's first entry may be missing from its log;
	// until then nothing depends on the log.
	Forming bool `json:"forming,omitempty"`
	// Log names the Raft log that belongs to this identity.
	Log string `json:"log,omitempty"`
	// Accepted is the attempt that this member agreed to be part of.
	Accepted Attempt `json:"accepted"`
	// Number is the number of this member in a set, nil before it has one.
	Number *identity.Number `json:"number,omitempty"`

	dir   string // "" = memory only
	isNew bool   // there was no file
}

// Attempt is one attempt of one member to form a grid.
type Attempt struct {
	BootstrapMember roster.MemberID `json:"founder,omitempty"` // the one member
	Grid            roster.GridID   `json:"grid"`
}

const identityFile = identity.NumberFile

type storedIdentity struct {
	Format int `json:"format"`
	Identity
}

func (s *storedIdentity) Check() error {
	if err := NewIncarnation(s.Member).Check(); err != nil {
		return fmt.Errorf("it names no member: %w", err)
	}
	if s.Number != nil {
		return s.Number.Check()
	}
	return nil
}

// LoadIdentity reads the identity in dir, or creates one if dir has none. An unreadable file is an
// error, never a reason for a new identity.
func LoadIdentity(dir string) (*Identity, error) {
	id := &Identity{Member: roster.MemberID(randomHex(8)), dir: dir}
	if dir == "" {
		return id, nil
	}
	var stored storedIdentity
	exists, err := identity.Load(filepath.Join(dir, identityFile), &stored, "restore it, or "+raftlog.DamageAdvice)
	switch {
	case err != nil:
		return nil, refusal.Invalid("%v", err)
	case exists:
		id = &stored.Identity
	}
	id.dir, id.isNew = dir, !exists
	return id, nil
}

// Save keeps the identity, on disk when it returns.
func (id *Identity) Save() error { return id.save(nil) }

// save is Save; ready is called before the new content gets the file's name.
func (id *Identity) save(ready func()) error {
	if id.dir == "" {
		return nil
	}
	data, err := durable.Seal(storedIdentity{identity.Format, *id})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(id.dir, 0o700); err != nil {
		return fmt.Errorf("grid: keep the member's identity: %w", err)
	}
	if err := durable.Replace(filepath.Join(id.dir, identityFile), data, ready); err != nil {
		return fmt.Errorf("grid: keep the member's identity: %w", err)
	}
	id.isNew = false
	return nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// NewGridID returns a random grid ID.
func NewGridID() (g roster.GridID) {
	_, _ = rand.Read(g[:])
	return g
}

// NewIncarnation names this start of the member's process.
func NewIncarnation(id roster.MemberID) roster.Incarnation {
	return roster.Incarnation(string(id) + "-" + randomHex(8))
}

// Numbers keeps this member's number in its identity, and the application for it in a file of its
// own. It implements identity.Store.
type Numbers struct {
	identity.Dir
	f *Formation
}

// Numbers returns the store of this member's number.
func (f *Formation) Numbers() Numbers { return Numbers{identity.Dir(f.cfg.DataDir), f} }

// ReadNumber reads the number and the application of a data directory, before anything else reads or
// writes it.
//
// Errors: sequencer.ErrInvalidConfig if a file is damaged.
func ReadNumber(dir string) (identity.Files, error) {
	id, err := LoadIdentity(dir)
	if err != nil {
		return identity.Files{}, err
	}
	application, err := identity.Dir(dir).ReadApplication()
	if err != nil {
		return identity.Files{}, refusal.Invalid("%v", err)
	}
	return identity.Files{Number: id.Number, Application: application}, nil
}

// StoreNumber implements identity.Store.
func (n Numbers) StoreNumber(number identity.Number) error {
	n.f.idMu.Lock()
	defer n.f.idMu.Unlock()
	n.f.id.Number = &number
	return n.f.id.save(func() { identity.AtCrashPoint(identity.BeforeRename) })
}
