package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
)

// sealed is a file's content with a checksum over it.
type sealed struct {
	Content json.RawMessage `json:"content"`
	CRC32   uint32          `json:"crc32"`
}

// Seal returns v as JSON with a checksum, for [Unseal].
func Seal(v any) ([]byte, error) {
	content, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{content, crc32.ChecksumIEEE(content)})
}

// Unseal returns the content of a file from [Seal]. It accepts no change to a byte of the file.
func Unseal(data []byte) (json.RawMessage, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(s.Content) != s.CRC32 {
		return nil, errors.New("its checksum does not match its content")
	}
	if again, err := json.Marshal(s); err != nil || !bytes.Equal(again, data) {
		return nil, errors.New("it has more than its content and a checksum")
	}
	return s.Content, nil
}
