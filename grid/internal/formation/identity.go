package formation

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/registrar"
	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
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
	// Number is the number of this member in a set, nil before it has one. Versions of
	// protocol 1 read the file without it, and drop it when they write.
	Number *registration.Number `json:"number,omitempty"`

	dir   string // "" = memory only
	isNew bool   // there was no file
}

// Attempt is one attempt of one member to form a grid.
type Attempt struct {
	BootstrapMember roster.MemberID `json:"founder,omitempty"` // the one member
	Grid            roster.GridID   `json:"grid"`
}

// IdentityFile is the file's name in the data directory.
const IdentityFile = registrar.FinalFile

// identityFormat is the format of the identity's file. It grows when an older version
// must not read the file; a field that an older version may ignore is just added.
const identityFormat = 1

// storedIdentity is an identity as its file holds it, with its format's number.
type storedIdentity struct {
	Format int `json:"format"`
	Identity
}

// sealed is the file's content: the identity and a checksum over it.
type sealed struct {
	Identity json.RawMessage `json:"identity"`
	CRC32    uint32          `json:"crc32"`
}

// LoadIdentity reads the identity in dir, or creates one if dir has none. An unreadable file is an
// error, never a reason for a new identity.
func LoadIdentity(dir string) (*Identity, error) {
	id := &Identity{Member: roster.MemberID(randomHex(8)), dir: dir}
	if dir == "" {
		return id, nil
	}
	path := filepath.Join(dir, IdentityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		id.isNew = true
		return id, nil
	}
	if err != nil {
		return nil, refusal.Invalid("DataDir: %v", err)
	}
	id, err = decodeIdentity(data)
	var later *wire.FormatError
	if errors.As(err, &later) {
		return nil, refusal.Invalid("DataDir: %s: %v", path, err)
	}
	if err != nil {
		return nil, refusal.Invalid("DataDir: %s is damaged: %v; restore it, or %s", path, err, raftlog.DamageAdvice)
	}
	id.dir = dir
	return id, nil
}

// decodeIdentity decodes the identity's file. Its checksum covers every field, so an unknown field
// comes from a later version and is ignored. The error is a *wire.FormatError if this version does not
// support the format.
func decodeIdentity(data []byte) (*Identity, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(s.Identity) != s.CRC32 {
		return nil, errors.New("its checksum does not match its content")
	}
	if again, err := json.Marshal(s); err != nil || !bytes.Equal(again, data) {
		return nil, errors.New("it has more than an identity and its checksum")
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(s.Identity, &head); err != nil {
		return nil, err
	}
	if err := wire.CheckFormat(head.Format, identityFormat); err != nil {
		return nil, err
	}
	var stored storedIdentity
	if err := json.Unmarshal(s.Identity, &stored); err != nil {
		return nil, err
	}
	if err := NewIncarnation(stored.Member).Check(); err != nil {
		return nil, fmt.Errorf("it names no member: %w", err)
	}
	if stored.Number != nil {
		if err := stored.Number.Check(); err != nil {
			return nil, err
		}
	}
	return &stored.Identity, nil
}

// encode returns the file's content.
func (id *Identity) encode() ([]byte, error) {
	inner, err := json.Marshal(storedIdentity{identityFormat, *id})
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{Identity: inner, CRC32: crc32.ChecksumIEEE(inner)})
}

// Save keeps the identity, on disk when it returns.
func (id *Identity) Save() error { return id.save(nil) }

// save is Save; ready is called before the new content gets the file's name.
func (id *Identity) save(ready func()) error {
	if id.dir == "" {
		return nil
	}
	data, err := id.encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(id.dir, 0o700); err != nil {
		return fmt.Errorf("grid: keep the member's identity: %w", err)
	}
	if err := durable.Replace(filepath.Join(id.dir, IdentityFile), data, ready); err != nil {
		return fmt.Errorf("grid: keep the member's identity: %w", err)
	}
	id.isNew = false
	return nil
}

// randomHex returns n random bytes as hexadecimal digits.
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
