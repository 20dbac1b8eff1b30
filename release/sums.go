package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
)

const (
	sumsName      = "SHA256SUMS"
	signatureName = sumsName + ".minisig"
)

// fileSum returns a file's SHA-256 in hexadecimal digits.
func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// filesOf returns the file names in a directory, sorted.
func filesOf(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

type checksum struct{ name, sum string }

// sums returns the checksums of the files so far, by name.
func (r *release) sums() (out []checksum, err error) {
	names, err := filesOf(r.out)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		sum, err := fileSum(filepath.Join(r.out, name))
		if err != nil {
			return nil, err
		}
		out = append(out, checksum{name, sum})
	}
	return out, nil
}

// checksums writes each file's checksum, and signs them if there is a key.
func (r *release) checksums(keyFile string) error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	for _, s := range sums {
		fmt.Fprintf(&buf, "%s  %s\n", s.sum, s.name)
	}
	if err := r.write(sumsName, func(w io.Writer) error { _, err := w.Write(buf.Bytes()); return err }); err != nil {
		return err
	}
	if keyFile == "" {
		return nil
	}
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	var key minisign.PrivateKey
	if err := key.UnmarshalText(text); err != nil {
		return fmt.Errorf("%s has no private key of minisign without a password: %w", keyFile, err)
	}
	signature := minisign.SignWithComments(key, buf.Bytes(), "snowgrid "+r.version+" "+r.commit, "of "+sumsName)
	return r.write(signatureName, func(w io.Writer) error { _, err := w.Write(signature); return err })
}

type keyCommand struct {
	Out string `help:"Prefix of the files: .key and .pub." default:"snowgrid-release"`
}

func (c *keyCommand) Run() error {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	secret, err := private.MarshalText()
	if err != nil {
		return err
	}
	text, err := public.MarshalText()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
		mode os.FileMode
	}{{c.Out + ".key", secret, 0o600}, {c.Out + ".pub", append(text, '\n'), 0o644}} {
		out, err := os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if err != nil {
			return err
		}
		_, err = out.Write(f.data)
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
	fmt.Printf("%s.key signs releases; keep it offline. Publish %s.pub.\n", c.Out, c.Out)
	return nil
}

type verifyCommand struct {
	Dir string `arg:"" help:"Directory with the files." default:"../dist"`
	Key string `help:"File with the public key; without one the signature is not checked." type:"existingfile"`
}

func (c *verifyCommand) Run() error {
	sums, err := os.ReadFile(filepath.Join(c.Dir, sumsName))
	if err != nil {
		return err
	}
	if c.Key != "" {
		if err := c.verifySignature(sums); err != nil {
			return err
		}
	}
	n, err := c.verifySums(sums)
	if err != nil {
		return err
	}
	bills, err := verifyMaterials(c.Dir)
	if err != nil {
		return err
	}
	signed := "the signature is right"
	if c.Key == "" {
		signed = "the signature was not checked: give --key"
	}
	fmt.Printf("%d files have their checksums, %d bills of materials equal their programs, and %s\n", n, bills, signed)
	return nil
}

func (c *verifyCommand) verifySignature(sums []byte) error {
	key, err := minisign.PublicKeyFromFile(c.Key)
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(filepath.Join(c.Dir, signatureName))
	if err != nil {
		return fmt.Errorf("%s is not signed: %w", sumsName, err)
	}
	if !minisign.Verify(key, sums, signature) {
		return fmt.Errorf("%s is not the signature of %s by the key in %s", signatureName, sumsName, c.Key)
	}
	return nil
}

// verifySums compares every file with its checksum. It returns how many.
func (c *verifyCommand) verifySums(sums []byte) (n int, err error) {
	left, err := filesOf(c.Dir)
	if err != nil {
		return 0, err
	}
	left = slices.DeleteFunc(left, func(name string) bool { return name == sumsName || name == signatureName })
	lines := bufio.NewScanner(bytes.NewReader(sums))
	for lines.Scan() {
		want, name, found := strings.Cut(lines.Text(), "  ")
		if !found || filepath.Base(name) != name {
			return 0, fmt.Errorf("%s: line %q; expected a checksum and a file name", sumsName, lines.Text())
		}
		got, err := fileSum(filepath.Join(c.Dir, name))
		if err != nil {
			return 0, err
		}
		if got != want {
			return 0, fmt.Errorf("%s has the checksum %s, and %s has %s: it was changed or is incomplete", name, got,
				sumsName, want)
		}
		left = slices.DeleteFunc(left, func(other string) bool { return other == name })
		n++
	}
	if len(left) > 0 {
		return 0, fmt.Errorf("%s has no checksum of %s", sumsName, strings.Join(left, ", "))
	}
	return n, lines.Err()
}
