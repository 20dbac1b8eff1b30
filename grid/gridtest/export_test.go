package gridtest

// SecureAll secures all grids.
func SecureAll() { secureAll = true }
