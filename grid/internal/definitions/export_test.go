package definitions

import (
	bolt "go.etcd.io/bbolt"
)

// OnWrite has f called in place of every transaction that writes; write does it.
func (s *Store) OnWrite(f func(write func() error) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update = func(change func(*bolt.Tx) error) error {
		return f(func() error { return s.db.Update(change) })
	}
}

// Edit changes the file as this version never would.
func (s *Store) Edit(change func(*bolt.Tx) error) error { return s.db.Update(change) }

// EncodeRecord returns the value of a record.
func EncodeRecord(r Record) []byte { return encodeRecord(r) }

// DecodeRecord reads the record of a name.
func DecodeRecord(name, value []byte) (Record, error) { return decodeRecord(name, value) }
