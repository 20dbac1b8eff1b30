package authority

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
)

// newTokenKey returns a new key that signs tokens, and its public part, in PEM.
func newTokenKey() (private, public []byte, err error) {
	open, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if private, err = keyPEM(secret); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(open)
	if err != nil {
		return nil, nil, err
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}
