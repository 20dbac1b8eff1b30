package boltfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// A page:
//
//	| id 8 | flags 2 | count 2 | overflow 4 | count elements of 16 | keys and values |
//	branch element: | offset 4 | key size 4 | child page 8 |
//	leaf element:   | flags 4 | offset 4 | key size 4 | value size 4 |
//	meta (page 0 and 1), behind the header:
//	| magic 4 | version 4 | page size 4 | flags 4 | root 8, sequence 8 | freelist 8 | high 8 | txid 8 | checksum 8 |
//
// All numbers have the byte order of the machine; offsets count from the element.
const (
	pageHead    = 16
	elementSize = 16
	bucketHead  = 16 // of a value that is a bucket: root page, sequence
	metaSize    = 64

	flagBranch, flagLeaf, flagMeta = 1, 2, 4
	flagBucket                     = 1 // of a leaf's element

	boltMagic, boltVersion = 0xED0CDAED, 2
	noFreelist             = ^uint64(0)

	depthMax = 64 // of pages; no tree comes near it
)

var order = binary.NativeEndian

// walk checks the pages of one file. It keeps one bit for each page.
type walk struct {
	file     io.ReaderAt
	pageSize int
	high     uint64 // pages from here on are not used
	seen     []uint64
}

// checkPages checks every page of a file that its last transaction can reach. It
// holds only one path of pages in memory.
func checkPages(file io.ReaderAt, size int64) error {
	first, err := readMeta(file, 0)
	if err != nil {
		return err
	}
	second, err := readMeta(file, int64(first.pageSize))
	if err != nil {
		return err
	}
	newer, older := first, second
	if older.txid > newer.txid {
		newer, older = older, newer
	}
	// With one of the two unreadable bbolt would take the older one and so forget a
	// transaction that was acknowledged.
	if newer.pageSize != older.pageSize || newer.txid != older.txid+1 {
		return Damaged("its two descriptions do not follow each other (transactions %d and %d)", older.txid, newer.txid)
	}
	if newer.high > uint64(size)/uint64(newer.pageSize) {
		return Damaged("it is cut off: %d bytes, and its pages end at %d", size, newer.high*uint64(newer.pageSize))
	}
	if newer.freelist != noFreelist {
		return Damaged("it lists its free pages, which no file of this version does")
	}
	w := &walk{file: file, pageSize: newer.pageSize, high: newer.high, seen: make([]uint64, newer.high/64+1)}
	return w.tree(newer.root, 0, nil, nil)
}

// meta has the used fields of one of the file's two meta pages.
type meta struct {
	pageSize             int
	root, freelist, high uint64
	txid                 uint64
}

func readMeta(file io.ReaderAt, at int64) (m meta, err error) {
	var page [pageHead + metaSize]byte
	if _, err := file.ReadAt(page[:], at); err != nil {
		return m, Damaged("its description at %d cannot be read: %v", at, err)
	}
	b := page[pageHead:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	m = meta{
		pageSize: int(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]),
		high: order.Uint64(b[40:]), txid: order.Uint64(b[48:]),
	}
	switch {
	case order.Uint16(page[8:]) != flagMeta, order.Uint32(b) != boltMagic:
		return m, Damaged("its description at %d is none", at)
	case order.Uint32(b[4:]) != boltVersion:
		return m, Damaged("its description at %d is of version %d, not %d", at, order.Uint32(b[4:]), boltVersion)
	case order.Uint64(b[56:]) != sum.Sum64():
		return m, Damaged("the checksum of its description at %d is of other content", at)
	case m.pageSize < 1024 || m.pageSize > 1<<16 || m.pageSize&(m.pageSize-1) != 0:
		return m, Damaged("its pages have %d bytes", m.pageSize)
	}
	return m, nil
}

// read returns a page with its overflow pages.
func (w *walk) read(id uint64) ([]byte, error) {
	if id < 2 || id >= w.high {
		return nil, Damaged("page %d is outside pages 2 to %d", id, w.high)
	}
	var head [pageHead]byte
	at := int64(id) * int64(w.pageSize)
	if _, err := w.file.ReadAt(head[:], at); err != nil {
		return nil, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	overflow := uint64(order.Uint32(head[12:]))
	switch {
	case order.Uint64(head[:]) != id:
		return nil, Damaged("page %d says that it is page %d", id, order.Uint64(head[:]))
	case overflow >= w.high-id:
		return nil, Damaged("page %d overflows into %d more", id, overflow)
	}
	for p := id; p <= id+overflow; p++ {
		if w.seen[p/64]&(1<<(p%64)) != 0 {
			return nil, Damaged("page %d is used twice", p)
		}
		w.seen[p/64] |= 1 << (p % 64)
	}
	page := make([]byte, (overflow+1)*uint64(w.pageSize))
	if _, err := w.file.ReadAt(page, at); err != nil {
		return nil, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	return page, nil
}

// tree checks the pages under one, with keys from least and below limit, where not nil.
func (w *walk) tree(id uint64, depth int, least, limit []byte) error {
	if depth > depthMax {
		return Damaged("its pages are nested more than %d deep", depthMax)
	}
	page, err := w.read(id)
	if err != nil {
		return err
	}
	return w.page(page, id, depth, least, limit)
}

// page checks a page's elements and the pages they refer to.
func (w *walk) page(page []byte, id uint64, depth int, least, limit []byte) error {
	flags, count := order.Uint16(page[8:]), int(order.Uint16(page[10:]))
	if flags != flagBranch && flags != flagLeaf || flags == flagBranch && count == 0 {
		return Damaged("page %d is of type %d with %d entries", id, flags, count)
	}
	if pageHead+count*elementSize > len(page) {
		return Damaged("page %d has no room for %d entries", id, count)
	}
	for i := range count {
		e, err := elementOf(page, flags == flagLeaf, i)
		if err != nil {
			return fmt.Errorf("page %d, entry %d: %w", id, i, err)
		}
		if bytes.Compare(e.key, least) < 0 || i > 0 && bytes.Equal(e.key, least) || limit != nil &&
			bytes.Compare(e.key, limit) >= 0 {
			return Damaged("page %d, entry %d is out of order", id, i)
		}
		least = e.key
		if flags == flagBranch {
			end := limit
			if i+1 < count {
				next, err := elementOf(page, false, i+1)
				if err != nil {
					return fmt.Errorf("page %d, entry %d: %w", id, i+1, err)
				}
				end = next.key
			}
			err = w.tree(e.child, depth+1, e.key, end)
		} else if e.bucket {
			err = w.bucket(e.value, id, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket: a tree of its own, or a page within its value.
func (w *walk) bucket(value []byte, id uint64, depth int) error {
	if len(value) < bucketHead {
		return Damaged("page %d has a bucket of %d bytes", id, len(value))
	}
	if root := order.Uint64(value); root != 0 {
		return w.tree(root, depth+1, nil, nil)
	}
	inline := value[bucketHead:]
	if depth > depthMax || len(inline) < pageHead || order.Uint16(inline[8:]) != flagLeaf {
		return Damaged("page %d has a bucket that is not a page", id)
	}
	return w.page(inline, id, depth+1, nil, nil)
}

// element is one entry of a page.
type element struct {
	key, value []byte
	child      uint64
	bucket     bool
}

func elementOf(page []byte, leaf bool, i int) (e element, err error) {
	at := pageHead + i*elementSize
	b := page[at:]
	var offset, key, value uint64
	if leaf {
		e.bucket = order.Uint32(b)&flagBucket != 0
		offset, key, value = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[12:]))
	} else {
		e.child = order.Uint64(b[8:])
		offset, key = uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
	}
	if key == 0 || offset+key+value > uint64(len(b)) {
		return e, Damaged("it reaches beyond its page")
	}
	e.key, e.value = b[offset:offset+key], b[offset+key:offset+key+value]
	return e, nil
}
