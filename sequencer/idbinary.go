package sequencer

import (
	"encoding/binary"
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// Bytes returns the ID as 8 bytes, the highest first, so that [bytes.Compare] orders them like the
// IDs: a key for a store that is ordered by bytes. [FromBytes] reads them.
func (id ID) Bytes() [8]byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	return b
}

// FromBytes reads the result of [ID.Bytes]. It returns ErrInvalidID for a length other than 8 bytes,
// and for a negative ID.
func FromBytes(data []byte) (ID, error) {
	if len(data) != 8 {
		return 0, failure.Errorf(ErrInvalidID, "sequencer: %d bytes are not the bytes of an ID: give exactly 8", len(data))
	}
	id := ID(binary.BigEndian.Uint64(data))
	if err := id.check(); err != nil {
		return 0, err
	}
	return id, nil
}

// MarshalBinary returns the ID's decimal digits, as MarshalText does: libraries that use this
// method, such as go-redis, then store the same digits that other clients of the data read and
// write. A negative ID is an error.
func (id ID) MarshalBinary() ([]byte, error) { return id.appendText(nil) }

// UnmarshalBinary reads the result of MarshalBinary, with the rules and errors of [Parse]. An error
// leaves id unchanged.
func (id *ID) UnmarshalBinary(data []byte) error { return id.set(Parse(string(data))) }

// MarshalCBOR returns the ID as a CBOR (RFC 8949) unsigned integer in its shortest form. A negative
// ID is an error.
func (id ID) MarshalCBOR() ([]byte, error) { return id.shortest(24, 24) }

// shortest returns the ID in one byte if it is below small; else in 1, 2, 4 or 8 bytes, the highest first, after a
// code: the given one for one byte, and the next for each next size.
func (id ID) shortest(small ID, code byte) ([]byte, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	if id < small {
		return []byte{byte(id)}, nil
	}
	size := 1
	for size < 8 && id>>(8*size) > 0 {
		size, code = 2*size, code+1
	}
	b := id.Bytes()
	return append([]byte{code}, b[8-size:]...), nil
}

// UnmarshalCBOR reads one CBOR unsigned integer. An error leaves id unchanged.
func (id *ID) UnmarshalCBOR(data []byte) error {
	if len(data) == 1 && data[0] < 24 {
		return id.set(ID(data[0]), nil)
	}
	if len(data) > 0 && data[0] >= 24 && data[0] <= 27 {
		if v, err := bigEndian(data[1:], 1<<(data[0]-24)); err == nil {
			return id.set(unsigned(v))
		}
	}
	return failure.Errorf(ErrInvalidID, "sequencer: CBOR %.16x is not an ID: encode an unsigned integer", data)
}

// MarshalMsgpack returns the ID as a MessagePack integer in its shortest form. A negative ID is an
// error.
func (id ID) MarshalMsgpack() ([]byte, error) { return id.shortest(1<<7, 0xcc) }

// UnmarshalMsgpack reads one MessagePack integer, signed or unsigned, that is not negative. An
// error leaves id unchanged.
func (id *ID) UnmarshalMsgpack(data []byte) error {
	if len(data) == 1 && data[0] < 1<<7 {
		return id.set(ID(data[0]), nil)
	}
	if len(data) > 0 && data[0] >= 0xcc && data[0] <= 0xd3 {
		size := 1 << ((data[0] - 0xcc) % 4)
		v, err := bigEndian(data[1:], size)
		signed := data[0] >= 0xd0
		if err == nil && (!signed || v < 1<<(8*size-1)) {
			return id.set(unsigned(v))
		}
	}
	return failure.Errorf(ErrInvalidID,
		"sequencer: MessagePack %.16x is not an ID: encode an integer that is not negative", data)
}

// bigEndian decodes exactly size bytes, the highest first.
func bigEndian(data []byte, size int) (v uint64, err error) {
	if len(data) != size {
		return 0, errors.New("another length")
	}
	for _, b := range data {
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// JSONSchemaAlias returns a string: github.com/invopop/jsonschema then describes IDs as text, which
// is what MarshalJSON writes.
func (ID) JSONSchemaAlias() any { return "" }
