package host

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/partition"
)

// limitOf returns the limit for a request's caller: the same for callers with the same name patterns,
// 0 for an unrestricted caller.
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
