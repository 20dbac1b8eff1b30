package security

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
)

// maxTokenKeys is the maximum number of keys in a file.
const maxTokenKeys = 16

// TokenKeyID returns the ID of a key that verifies tokens, as in the header of each token that the
// key signs.
func TokenKeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// ParseTokenKeys returns the public keys in the text of tokens.pub by their key IDs, and the IDs in
// file order. Errors match [ErrInvalid].
func ParseTokenKeys(text []byte) (keys map[string]ed25519.PublicKey, ids []string, err error) {
	keys = map[string]ed25519.PublicKey{}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		key, isKey := parsed.(ed25519.PublicKey)
		if err != nil || !isKey || block.Type != "PUBLIC KEY" {
			return nil, nil, fmt.Errorf("%w: PEM block %d, %.40s, is not an Ed25519 public key", ErrInvalid, len(ids)+1,
				block.Type)
		}
		id := TokenKeyID(key)
		if _, twice := keys[id]; !twice {
			ids = append(ids, id)
		}
		keys[id] = key
	}
	if len(keys) == 0 || len(keys) > maxTokenKeys {
		return nil, nil, fmt.Errorf("%w: %d public keys of tokens; give 1 to %d in PEM", ErrInvalid, len(keys), maxTokenKeys)
	}
	return keys, ids, nil
}
