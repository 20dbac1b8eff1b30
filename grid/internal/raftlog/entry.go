package raftlog

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/hashicorp/raft"
)

var errBadEntry = errors.New("grid: a stored Raft entry is damaged or of a newer version")

// A stored entry, all numbers big-endian; its index is the key:
//
//	+--------+---------+--------+----------------------+---------+------+------------+----------+
//	| format | term    | type   | appended at          | length  | data | extensions | checksum |
//	| 1 byte | 8 bytes | 1 byte | 8 bytes s, 4 bytes ns| 4 bytes |      |            | 4 bytes  |
//	+--------+---------+--------+----------------------+---------+------+------------+----------+
//
// The checksum covers the index and everything before it.
const (
	entryFormat = 2
	entryHead   = 1 + 8 + 1 + 8 + 4 + 4
)

func encodeEntry(entry *raft.Log) []byte {
	b := make([]byte, 0, entryHead+len(entry.Data)+len(entry.Extensions)+checksumSize)
	b = append(b, entryFormat)
	b = binary.BigEndian.AppendUint64(b, entry.Term)
	b = append(b, byte(entry.Type))
	b = binary.BigEndian.AppendUint64(b, uint64(entry.AppendedAt.Unix()))
	b = binary.BigEndian.AppendUint32(b, uint32(entry.AppendedAt.Nanosecond()))
	b = binary.BigEndian.AppendUint32(b, uint32(len(entry.Data)))
	b = append(b, entry.Data...)
	b = append(b, entry.Extensions...)
	return binary.BigEndian.AppendUint32(b, checksum(indexKey(entry.Index), b))
}

// decodeEntry copies the data that it keeps. Empty data and extensions become nil.
func decodeEntry(index uint64, b []byte, entry *raft.Log) error {
	b, err := checked(indexKey(index), b)
	if err != nil || len(b) < entryHead || b[0] != entryFormat {
		return errBadEntry
	}
	seconds := int64(binary.BigEndian.Uint64(b[10:]))
	nanos := binary.BigEndian.Uint32(b[18:])
	length := binary.BigEndian.Uint32(b[22:])
	rest := b[entryHead:]
	if nanos >= 1e9 || length > math.MaxInt32 || int(length) > len(rest) {
		return errBadEntry
	}
	*entry = raft.Log{
		Index:      index,
		Term:       binary.BigEndian.Uint64(b[1:]),
		Type:       raft.LogType(b[9]),
		Data:       append([]byte(nil), rest[:length]...),
		Extensions: append([]byte(nil), rest[length:]...),
		AppendedAt: time.Unix(seconds, int64(nanos)).UTC(),
	}
	return nil
}
