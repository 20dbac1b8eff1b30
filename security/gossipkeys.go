package security

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/snowgrid/snowgrid/internal/durable"
)

// MaxGossipKeys is the maximum number of gossip keys.
const MaxGossipKeys = 16

// Fingerprint returns 8 hex digits that stand for a gossip key in lists and logs.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// ParseGossipKey decodes a gossip key in base64. Errors match [ErrInvalid] and do not contain the
// text.
func ParseGossipKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || CheckGossipKey(key) != nil {
		return nil,
			fmt.Errorf("%w: the text is not a gossip key; give 16, 24 or 32 random bytes in base64, such as snowgrid keyring "+
				"generate prints", ErrInvalid)
	}
	return key, nil
}

// WriteGossipKeys replaces the keys in a file; the first key encrypts. The comments at the start
// stay. After an error or a crash at any point, the file keeps its previous keys.
func WriteGossipKeys(file string, keys [][]byte) error {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return unreadable(file, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return unreadable(file, err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(before)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		text.WriteString(line)
	}
	for _, key := range keys {
		text.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	}
	if err := durable.Replace(path, []byte(text.String()), nil); err != nil {
		return fmt.Errorf("security: %s is not written: %w", file, err)
	}
	return nil
}
