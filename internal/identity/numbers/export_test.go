package numbers

// ErrChanged is the error of a clean whose process has registered since.
var ErrChanged = errChanged
