package frames

import (
	"bufio"
	"bytes"
	"io"
)

const (
	// calmBuffer is the memory of a connection on which frames come one by one, as on those
	// of most holders, and burstBuffer of one on which many come together: the fewer reads, the
	// better.
	calmBuffer  = 512
	burstBuffer = 4 << 10
)

// reader buffers what arrives. It has more memory once several frames fill its buffer.
type reader struct {
	*bufio.Reader
	from io.Reader
}

func newReader(from io.Reader) *reader {
	return &reader{bufio.NewReaderSize(from, calmBuffer), from}
}

// Rest returns a reader of a connection that begins with the bytes which were read ahead from it
// for the upgrade. It does not keep the buffer of that reader.
func Rest(conn io.Reader, ahead *bufio.Reader) io.Reader {
	early, _ := ahead.Peek(ahead.Buffered())
	if len(early) == 0 {
		return conn
	}
	return io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn)
}

// grow is called before a frame is read, with its size.
func (r *reader) grow(size int) {
	if r.Size() > calmBuffer || r.Buffered() < calmBuffer || size > calmBuffer {
		return // a large payload is read without the buffer
	}
	have, _ := r.Peek(r.Buffered())
	r.Reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(have), r.from), burstBuffer)
}
