package host

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/partition"
)

// limitOf returns the limit that the caller of a request is under: the same one for callers
// with the same patterns of names, 0 for a caller that may use all.
func limitOf(ctx context.Context) partition.Limit {
	names := api.PeerOf(ctx).Names
	if len(names) == 0 {
		return 0
	}
	sum := sha256.New()
	for _, n := range names {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(n)))
		_, _ = sum.Write(append(length[:], n...))
	}
	return partition.Limit(binary.BigEndian.Uint64(sum.Sum(nil)) | 1)
}
