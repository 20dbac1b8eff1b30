package gridtest

// SecureAll secures all grids.
func SecureAll() { secureAll = true }

// Divide gives all grids n partitions.
func Divide(n int) { partitionsOfAll = n }
