package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A file has a line with the digest of the rest, a line of JSON, and the body:
//
//	5f2c...                                    64 hexadecimal digits, SHA-256
//	{"nonce":"...","meta":{"version":"7"}}
//	{"taskId":...
//
// The digest is the revision. The nonce makes it another one for each write.

// header is the second line.
type header struct {
	Nonce string            `json:"nonce"`
	Meta  map[string]string `json:"meta,omitempty"`
}

const (
	digestLine = 2*sha256.Size + 1
	fileMax    = 4 * bodyMax // bytes of a file
)

// encodeFile returns the text of an entry's file, and its revision.
func encodeFile(e Entry) (text []byte, revision Revision, err error) {
	head, err := json.Marshal(header{Nonce: rand.Text(), Meta: e.Meta})
	if err != nil {
		return nil, "", err
	}
	rest := append(append(head, '\n'), e.Body...)
	if size := digestLine + len(rest); size > fileMax {
		return nil, "", fmt.Errorf("an entry of %d bytes with its Meta; the limit is %d", size, fileMax)
	}
	digest := digestOf(rest)
	return append([]byte(digest+"\n"), rest...), Revision(digest), nil
}

// decodeFile returns the entry in a file, without its key. A text that encodeFile did
// not make is an entry of its own, so that it can be replaced: its body names the
// fault, and no record is like it.
func decodeFile(text []byte) Entry {
	damaged := func(why string) Entry {
		return Entry{Body: []byte("damaged file: " + why), Revision: Revision("damaged-" + digestOf(text))}
	}
	switch {
	case len(text) > fileMax:
		return damaged(fmt.Sprintf("more than %d bytes", fileMax))
	case len(text) < digestLine || text[digestLine-1] != '\n':
		return damaged(fmt.Sprintf("%d bytes without a first line of %d digits", len(text), digestLine-1))
	}
	digest, rest := string(text[:digestLine-1]), text[digestLine:]
	if have := digestOf(rest); have != digest {
		return damaged(fmt.Sprintf("its first line is the digest %.100q, but the digest for the rest is %s", digest, have))
	}
	head, body, _ := bytes.Cut(rest, []byte("\n"))
	var h header
	if err := json.Unmarshal(head, &h); err != nil || len(body) == 0 {
		return damaged("its digest is right, but it has no second line of JSON and no body")
	}
	return Entry{Body: body, Revision: Revision(digest), Meta: h.Meta}
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
