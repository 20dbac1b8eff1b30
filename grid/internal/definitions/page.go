package definitions

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// Page is a part of a partition's definitions, names ascending.
type Page struct {
	// Revision is another one whenever the stored table is; it is never 0.
	Revision uint64
	partition.Definitions
	More bool // another page follows
}

// Page returns a partition's definitions after a name, up to an estimated weight in bytes, and at
// least one if any follows. If the table does not have that revision, it returns the first page. It
// returns false if nothing is stored for the partition.
func (s *Store) Page(id roster.PartitionID, after string, revision uint64, weight int) (Page, bool, error) {
	return view(s, id, func(b *bolt.Bucket) (p Page, err error) {
		// The head has position, count and sum, so it differs after every write.
		if p.Revision = max(1, digest(keyOf(id), b.Get(keyHead))); p.Revision != revision {
			after = ""
		}
		err = p.fill(keyOf(id), b, []byte(after), weight)
		return p, err
	})
}

func (p *Page) fill(key []byte, b *bolt.Bucket, after []byte, weight int) error {
	h, err := decodeHead(key, b.Get(keyHead))
	if err != nil {
		return err
	}
	p.Base = h.base
	cursor := b.Bucket(bucketRecords).Cursor()
	name, value := cursor.Seek(after)
	if len(after) > 0 && bytes.Equal(name, after) {
		name, value = cursor.Next()
	}
	for ; name != nil; name, value = cursor.Next() {
		weight -= len(name) + RecordWeight
		if weight < 0 && len(p.Records) > 0 {
			p.More = true
			return nil
		}
		r, err := decodeRecord(name, value)
		if err != nil {
			return err
		}
		p.Records = append(p.Records, r)
	}
	return nil
}

// RecordWeight is a record's estimated size on the wire, without its name.
const RecordWeight = 160
