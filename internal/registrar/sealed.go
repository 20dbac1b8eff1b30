package registrar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/snowgrid/snowgrid/internal/registration"
)

// A registration's files in a data directory. FinalFile is also a member's identity file, which
// contains the number.
const (
	FinalFile = ".member.meta"
	TempFile  = ".member.meta.temp"
)

// format is the file format's version. It grows when an earlier release must not read the files.
const format = 1

// maxFile bounds a file that is read.
const maxFile = 1 << 20

// sealedNumber is the part of a file that the checksum covers.
type sealedNumber struct {
	Format int `json:"format"`
	// Member is present in a grid member's file.
	Member string               `json:"member,omitempty"`
	Number *registration.Number `json:"number,omitempty"`
}

// sealed is a file: its content under one of two keys, and the content's checksum.
type sealed struct {
	Identity    json.RawMessage `json:"identity,omitempty"`    // of FinalFile
	Application json.RawMessage `json:"application,omitempty"` // of TempFile
	CRC32       uint32          `json:"crc32"`
}

// encode returns the file for a number: an application, or a client's final number.
func encode(n registration.Number, application bool) ([]byte, error) {
	inner, err := json.Marshal(sealedNumber{Format: format, Number: &n})
	if err != nil {
		return nil, err
	}
	s := sealed{CRC32: crc32.ChecksumIEEE(inner)}
	if application {
		s.Application = inner
	} else {
		s.Identity = inner
	}
	return json.Marshal(s)
}

// decode reads a file written by encode.
func decode(data []byte, application bool) (sealedNumber, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return sealedNumber{}, err
	}
	inner, other := s.Identity, s.Application
	if application {
		inner, other = other, inner
	}
	switch again, err := json.Marshal(s); {
	case len(inner) == 0 || len(other) > 0:
		return sealedNumber{}, errors.New("the file has another kind")
	case crc32.ChecksumIEEE(inner) != s.CRC32:
		return sealedNumber{}, errors.New("its checksum does not match its content")
	case err != nil || !bytes.Equal(again, data):
		return sealedNumber{}, errors.New("there is more in it than a number and its checksum")
	}
	var n sealedNumber
	if err := json.Unmarshal(inner, &n); err != nil {
		return sealedNumber{}, err
	}
	if n.Format != format {
		return sealedNumber{}, fmt.Errorf(
			"its format is %d, and this version of snowgrid reads format %d; start a newer version", n.Format, format)
	}
	if n.Member == "" && n.Number == nil {
		return sealedNumber{}, errors.New("it has no number")
	}
	if n.Number != nil {
		return n, n.Number.Check()
	}
	return n, nil
}
