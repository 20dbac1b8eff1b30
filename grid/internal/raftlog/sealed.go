package raftlog

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Every value of the file has a checksum of its own, which each read verifies, and one
// value is the seal: the number of all keys and the sum of their digests. Every transaction
// updates it, so an open finds a key that was lost, and a deleted key that has returned.
//
//	about    id       --> name of the log, checksum
//	         seal     --> format 1, keys 8, sum of digests 8, checksum 4
//	entries  index 8  --> entry (entry.go)
//	stable   key      --> value, checksum 4

const logFormat = 2

var (
	raftEntries = []byte("entries") // big-endian index to entry
	raftStable  = []byte("stable")  // Raft's own keys: term, vote
	raftAbout   = []byte("about")   // the description of the log
	raftLogID   = []byte("id")      // ... its name, drawn when it was made
	raftSeal    = []byte("seal")
	buckets     = [][]byte{raftAbout, raftEntries, raftStable}

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

const (
	checksumSize = 4
	sealSize     = 1 + 8 + 8
)

// withChecksum returns a value with a checksum over its key and it.
func withChecksum(key, value []byte) []byte {
	out := append(make([]byte, 0, len(value)+checksumSize), value...)
	return binary.BigEndian.AppendUint32(out, checksum(key, value))
}

func checked(key, stored []byte) ([]byte, error) {
	end := len(stored) - checksumSize
	if end < 0 || binary.BigEndian.Uint32(stored[end:]) != checksum(key, stored[:end]) {
		return nil, boltfile.Damaged("the value of %.40q is another than was stored", key)
	}
	return stored[:end], nil
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// seal counts the file's keys, and adds up their digests.
type seal struct{ keys, sum uint64 }

// digest returns the contribution of one key to the sum, in any order.
func digest(bucket, key, value []byte) uint64 {
	h := fnv.New64a()
	for _, part := range [][]byte{bucket, key, value} {
		_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		_, _ = h.Write(part)
	}
	return h.Sum64()
}

func (s *seal) add(bucket, key, value []byte) {
	s.keys++
	s.sum += digest(bucket, key, value)
}

func (s *seal) remove(bucket, key, value []byte) {
	s.keys--
	s.sum -= digest(bucket, key, value)
}

func (s seal) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{logFormat}, s.keys)
	return withChecksum(raftSeal, binary.BigEndian.AppendUint64(b, s.sum))
}

func decodeSeal(stored []byte) (s seal, err error) {
	if stored == nil {
		return s, boltfile.Damaged("it has no seal")
	}
	b, err := checked(raftSeal, stored)
	if err != nil {
		return s, err
	}
	if len(b) < 1 {
		return s, boltfile.Damaged("its seal has %d bytes", len(b))
	}
	if err := wire.CheckFormat(int(b[0]), logFormat); err != nil {
		return s, err
	}
	if b[0] != logFormat || len(b) != sealSize {
		return s, boltfile.Damaged("its seal is of format %d, with %d bytes", b[0], len(b))
	}
	return seal{keys: binary.BigEndian.Uint64(b[1:]), sum: binary.BigEndian.Uint64(b[9:])}, nil
}

// editor makes one transaction's changes, and keeps the seal.
type editor struct {
	tx   *bolt.Tx
	seal seal
}

func edit(tx *bolt.Tx, change func(e *editor) error) (err error) {
	e := &editor{tx: tx}
	about := tx.Bucket(raftAbout)
	if e.seal, err = decodeSeal(about.Get(raftSeal)); err != nil {
		return err
	}
	if err := change(e); err != nil {
		return err
	}
	return about.Put(raftSeal, e.seal.encode())
}

func (e *editor) put(bucket, key, value []byte) error {
	b := e.tx.Bucket(bucket)
	if old := b.Get(key); old != nil {
		e.seal.remove(bucket, key, old)
	}
	e.seal.add(bucket, key, value)
	return b.Put(key, value)
}

// clear removes the keys of a bucket that are from first on, and not after last if that is not nil.
func (e *editor) clear(bucket, first, last []byte) error {
	var keys [][]byte // removing moves cursors, so look first
	b := e.tx.Bucket(bucket)
	cursor := b.Cursor()
	for key, _ := cursor.Seek(first); key != nil && (last == nil || string(key) <= string(last)); key, _ = cursor.Next() {
		keys = append(keys, append([]byte{}, key...))
	}
	for _, key := range keys {
		if old := b.Get(key); old != nil {
			e.seal.remove(bucket, key, old)
		}
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func verify(tx *bolt.Tx) (id string, err error) {
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return "", boltfile.Damaged("it has no bucket %q", name)
		}
	}
	stored, err := decodeSeal(tx.Bucket(raftAbout).Get(raftSeal))
	if err != nil {
		return "", err
	}
	var found seal
	for _, name := range buckets {
		if err := tx.Bucket(name).ForEach(func(key, value []byte) error {
			if string(name) == string(raftAbout) && string(key) == string(raftSeal) {
				return nil
			}
			if value == nil {
				return boltfile.Damaged("%.40q in %q is a bucket", key, name)
			}
			found.add(name, key, value)
			return nil
		}); err != nil {
			return "", err
		}
	}
	if found != stored {
		return "", boltfile.Damaged("its %d keys are not the %d that were stored", found.keys, stored.keys)
	}
	name, err := checked(raftLogID, tx.Bucket(raftAbout).Get(raftLogID))
	return string(name), err
}
