package main

// storeTests guard the definitions file, and diskTests a member's use of it.
var (
	storeTests    = []string{"./grid/internal/definitions"}
	raftFileTests = []string{"./grid/internal/raftlog", "-run", "Damage|Flipped|Changed|Snapshot|Entries|Stable"}
	diskTests     = []string{"./grid/internal/host", "./grid", "-run", "Definitions|WritesOf|FailedDisk|Reports|BelievesOnly"}
)

// diskMutants weaken the rules by which a member's disk is trusted, read and given up.
var diskMutants = []mutant{
	{"D1", "a write is acknowledged before it is on disk", "grid/internal/host/diskwriter.go", "		n, err := d.store.Commit(d.grid(), batch)\n", "		for _, w := range writes {\n			w.done(nil)\n		}\n		n, err := d.store.Commit(d.grid(), batch)\n", diskTests},
	{"D1", "a write that failed is acknowledged by the writer", "grid/internal/host/diskwriter.go", "			d.failed(err)\n			return false\n", "			d.failed(err)\n			for _, w := range writes {\n				w.done(nil)\n			}\n			return false\n", diskTests},
	{"D1", "the store takes writes after one that failed", "grid/internal/definitions/commit.go", "	if s.failed != nil || len(writes) == 0 {", "	if len(writes) == 0 {", storeTests},
	{"D1", "a change is made to a table that this process has not written", "grid/internal/definitions/commit.go", "w.Whole == nil && !s.written[w.Partition] &&", "w.Whole == nil && len(s.written) < 0 &&", storeTests},
	{"D1", "a name that a whole table lacks stays stored", "grid/internal/definitions/commit.go", "	for ; key != nil; key, old = cursor.Next() {\n		changes", "	for ; key != nil && len(records) < 0; key, old = cursor.Next() {\n		changes", storeTests},
	{"D1", "a removed name stays stored", "grid/internal/definitions/commit.go", "err = e.apply(w.Removed, w.Changed)", "err = e.apply(nil, w.Changed)", storeTests},
	{"D6", "a disk is shown without its member's agreement", "grid/internal/host/collecting.go", "	if err != nil {\n		return none, failure.Errorf(sequencer.ErrUnavailable, \"%w\", err)\n	}\n	page,", "	page,", []string{"./grid/internal/host", "-run", "ShowsItsDisk"}},
	{"D6", "a page of a table that has changed continues the one before", "grid/internal/definitions/page.go", "			if p.Revision = revisionOf(id, b); p.Revision != revision {\n				after = \"\"\n			}\n", "			p.Revision = revisionOf(id, b)\n", storeTests},
	{"D9", "missing definitions are made again beside an identity", "grid/internal/formation/definitions.go", "if errors.Is(err, fs.ErrNotExist) && id.Grid.IsZero() {", "if errors.Is(err, fs.ErrNotExist) {", diskTests},
	{"D9", "definitions without identity get a new one", "grid/internal/formation/datadir.go", "		err = checkDefinitionsOwned(id) // before the identity is kept\n", "", diskTests},
	{"D9", "another member's definitions are taken", "grid/internal/definitions/open.go", "string(owner) != string(member)", "len(owner) != len(member)", storeTests},
	{"D9", "definitions of a newer format are read", "grid/internal/definitions/open.go", "wire.CheckFormat(int(binary.BigEndian.Uint32(stored)), format)", "wire.CheckFormat(format, format)", storeTests},
	{"D9", "another grid's definitions are taken", "grid/internal/definitions/commit.go", "if !s.grid.IsZero() && s.grid != grid {", "if s.grid != grid && s.failed != nil {", storeTests},
	{"D9", "lost records are not noticed", "grid/internal/definitions/definitions.go", "if err == nil && (real.count != h.count || real.sum != h.sum) {", "if err == nil && real.count != h.count {", storeTests},
	{"D9", "a lost partition is not noticed", "grid/internal/definitions/open.go", "err == nil && (count != stored || count > 0 && s.grid.IsZero())", "err == nil && count > 0 && s.grid.IsZero()", storeTests},
	{"D9", "a damaged head is believed", "grid/internal/definitions/record.go", "if end < 0 || binary.BigEndian.Uint64(value[end:]) != digest(key, value[:end]) {", "if end < 0 {", storeTests},
	{"D9", "the transaction before the last is taken for the last", "grid/internal/boltfile/pages.go", "if newer.pageSize != older.pageSize || newer.txid != older.txid+1 {", "if newer.pageSize != older.pageSize {", storeTests},
	{"B2", "the pages of the log are not checked", "grid/internal/raftlog/open.go", "		err = checkPages(path)\n", "", raftFileTests},
	{"B2", "lost keys of the log are not noticed", "grid/internal/raftlog/sealed.go", "	if found != stored {", "	if found.keys != stored.keys {", raftFileTests},
	{"B2", "a log without a seal is a new one", "grid/internal/raftlog/open.go", "tx.ID() <= madeByBolt && tx.Bucket(raftAbout) == nil", "tx.Bucket(raftAbout) == nil", raftFileTests},
	{"B2", "the checksum of an entry is not compared", "grid/internal/raftlog/sealed.go", "if end < 0 || binary.BigEndian.Uint32(stored[end:]) != checksum(key, stored[:end]) {", "if end < 0 {", raftFileTests},
	{"B2", "an entry counts as another one's", "grid/internal/raftlog/entry.go", "	b, err := checked(indexKey(index), b)", "	b, err := checked(indexKey(max(index, 7)&7), b)", raftFileTests},
	{"B2", "a damaged description of a snapshot is believed", "grid/internal/raftlog/snapshots.go", "	case sum != r.sum:\n", "	case sum != r.sum && r.index == 0:\n", raftFileTests},
	{"B2", "the content of a snapshot is not read at the start", "grid/internal/raftlog/snapshots.go", "	meta, from, err := s.Open(r.name) // reads all of it\n	if err != nil {", "	meta, from, err := s.Open(r.name) // reads all of it\n	if err != nil {\n		return nil\n	}\n	if err != nil {", raftFileTests},
	{"B2", "a snapshot that is not recorded counts", "grid/internal/raftlog/snapshots.go", "return m.ID != record.name }), err", "return m.ID == record.name+\"-\" }), err", raftFileTests},
	{"B2", "a snapshot that is not recorded displaces the recorded one", "grid/internal/raftlog/snapshots.go", "		if e.Name() != record.name {", "		if e.Name() == record.name+\"-\" {", raftFileTests},
	{"B2", "a gap in the log is not noticed", "grid/internal/raftlog/contents.go", "			if index > next {", "			if index > next && next == 0 {", raftFileTests},
	{"D9", "a page is followed twice", "grid/internal/boltfile/pages.go", "		if w.seen[p/64]&(1<<(p%64)) != 0 {\n			return nil, Damaged(\"page %d is used twice\", p)\n		}\n", "", storeTests},
}
