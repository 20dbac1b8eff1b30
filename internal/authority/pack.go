package authority

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/security"
)

// packMax bounds the size of a packed directory in bytes; AWS Secrets Manager takes 64 KiB.
const packMax = 1 << 20

// Pack returns the files of a process's directory as one JSON object, by name: for a secret store that
// has values and no files. [Unpack] reads it.
func Pack(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if isIssuing(e.Name()) {
			return nil, fmt.Errorf("%w: %s has %s, which belongs on no server; give a directory of snowgrid secure issue",
				security.ErrInvalid, dir, e.Name())
		}
		if !isPacked(e.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", security.ErrInvalid, err)
		}
		files[e.Name()] = string(content)
	}
	if err := checkPacked(files); err != nil {
		return nil, err
	}
	return json.Marshal(files)
}

// Unpack writes the files that [Pack] returned to a directory, which is made if it is missing. Each is
// replaced as a whole. An owner that is not negative gets the directory and the files.
func Unpack(packed []byte, dir string, owner, group int) error {
	if len(packed) > packMax {
		return fmt.Errorf("%w: %d bytes are more than the %d that credentials may have", security.ErrInvalid, len(packed),
			packMax)
	}
	files := map[string]string{}
	if err := json.Unmarshal(packed, &files); err != nil { // without the value, which is secret
		return fmt.Errorf("%w: not a JSON object of texts, such as snowgrid secure pack prints", security.ErrInvalid)
	}
	if err := checkPacked(files); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, directoryMode); err != nil {
		return fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	for name, content := range files {
		if err := (file{name, []byte(content)}).replace(dir); err != nil {
			return err
		}
		if err := chown(filepath.Join(dir, name), owner, group); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(dir); err != nil {
		return err
	}
	return chown(dir, owner, group)
}

func chown(path string, owner, group int) error {
	if owner < 0 {
		return nil
	}
	return os.Lchown(path, owner, group)
}

// isIssuing reports whether a file belongs only where credentials are issued.
func isIssuing(name string) bool {
	return slices.Contains([]string{security.AuthorityKeyFile, earlierKeyFile, security.TokensKeyFile}, name)
}

// isPacked reports whether a file is one of a process: certificates and keys of roles, the authority's
// certificate, the gossip keys, the public keys of tokens.
func isPacked(name string) bool {
	if slices.Contains([]string{security.AuthorityFile, security.GossipKeysFile, security.TokensFile}, name) {
		return true
	}
	role, isCertificate := strings.CutSuffix(name, certificateSuffix)
	role, isKey := strings.CutSuffix(role, keySuffix)
	return isCertificate != isKey && slices.Contains(security.Roles(), security.Role(role))
}

// checkPacked refuses all but the files of one process.
func checkPacked(files map[string]string) error {
	pairs := 0
	for name, content := range files {
		switch base, isCertificate := strings.CutSuffix(name, certificateSuffix); {
		case !isPacked(name):
			return fmt.Errorf("%w: %.80q is not a file of credentials; give the files of snowgrid secure issue",
				security.ErrInvalid,
				name)
		case len(bytes.TrimSpace([]byte(content))) == 0:
			return fmt.Errorf("%w: %s is empty; give the files of snowgrid secure issue", security.ErrInvalid, name)
		case isCertificate && name != security.AuthorityFile:
			if _, err := tls.X509KeyPair([]byte(content), []byte(files[base+keySuffix])); err != nil {
				return fmt.Errorf("%w: %s and %s do not belong together: %w", security.ErrInvalid, name, base+keySuffix, err)
			}
			pairs++
		case strings.HasSuffix(name, keySuffix) && files[strings.TrimSuffix(name, keySuffix)+certificateSuffix] == "":
			return fmt.Errorf("%w: %s has no certificate; give the files of snowgrid secure issue", security.ErrInvalid, name)
		}
	}
	if files[security.AuthorityFile] == "" || pairs == 0 {
		return fmt.Errorf("%w: %d files without %s, or without a certificate of a role; give the files of snowgrid secure "+
			"issue",
			security.ErrInvalid, len(files), security.AuthorityFile)
	}
	return nil
}
