package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

func readCertificate(certFile, keyFile string) (tls.Certificate, error) {
	certPEM, err := os.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, unreadable(certFile, err)
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, unreadable(keyFile, err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%w: %s with %s: %s; give a certificate and its private key in PEM", ErrInvalid,
			certFile, keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return cert, nil
}

func readAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable(file, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: %s has no certificate in PEM; give those of the authorities that are trusted",
			ErrInvalid, file)
	}
	return pool, nil
}

// readGossipKeys reads a file of keys; "" has none.
func readGossipKeys(file string) ([][]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable(file, err)
	}
	keys, err := ParseGossipKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%w; correct %s", err, file)
	}
	return keys, nil
}

// ParseGossipKeys returns the keys in the text of gossip.keys: one per line, in base64. Empty lines
// and lines that begin with # are skipped. Errors match [ErrInvalid] and do not contain the text.
func ParseGossipKeys(text []byte) (keys [][]byte, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := ParseGossipKey(line)
		if err != nil {
			return nil,
				fmt.Errorf("%w: line %d of the gossip's keys is not a key; give 16, 24 or 32 random bytes in base64, one key a "+
					"line", ErrInvalid, i+1)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > MaxGossipKeys {
		return nil, fmt.Errorf("%w: %d keys of the gossip; give 1 to %d, one a line", ErrInvalid, len(keys), MaxGossipKeys)
	}
	return keys, nil
}

// CheckGossipKey rejects a key without an AES key length.
func CheckGossipKey(key []byte) error {
	if n := len(key); n != 16 && n != 24 && n != 32 {
		return fmt.Errorf("%w: the gossip key has %d bytes; give 16, 24 or 32", ErrInvalid, n)
	}
	return nil
}

// unreadable returns the error for a file that cannot be read.
func unreadable(file string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: no such file: %s; make the directory with snowgrid secure init or secure issue, or correct "+
			"the path", ErrInvalid, file)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: this process may not read %s; give its user the right", ErrInvalid, file)
	}
	return fmt.Errorf("%w: %s: %w", ErrInvalid, file, err)
}
