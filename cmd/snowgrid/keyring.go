package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

type keyringCommands struct {
	List     keyringListCommand     `cmd:"" default:"withargs" help:"List the keys of every member, by their fingerprints."`
	Install  keyringInstallCommand  `cmd:"" help:"Give every member a key, which opens messages and encrypts none yet."`
	Use      keyringUseCommand      `cmd:"" help:"Have every member encrypt with a key that all have."`
	Remove   keyringRemoveCommand   `cmd:"" help:"Take a key that no member encrypts with from every member."`
	Generate keyringGenerateCommand `cmd:"" help:"Print a new random key; needs no grid."`
}

type keyringListCommand struct{ gridOutput }

func (c *keyringListCommand) Run(ctx context.Context, to streams) error {
	out, err := c.keyring(ctx, wire.KeyringRequest{Operation: wire.KeyringList})
	if err != nil {
		return asking(err)
	}
	return c.result(to.out, out, func(w io.Writer) { printKeyring(w, out) })
}

type keyringInstallCommand struct {
	Key string `arg:"" help:"Key in base64: - for standard input, @FILE for a file."`
	gridOutput
}

func (c *keyringInstallCommand) Run(ctx context.Context, to streams) error {
	key, err := readKey(c.Key)
	if err != nil {
		return usage(err)
	}
	return c.change(ctx, to, wire.KeyringRequest{Operation: wire.KeyringInstall,
		Key: base64.StdEncoding.EncodeToString(key)})
}

// namedKey is an argument of commands that send a key's fingerprint alone.
type namedKey struct {
	Key string `arg:"" help:"Fingerprint of the key, or the key: - for standard input, @FILE for a file."`
	gridOutput
}

func (c *namedKey) changeNamed(ctx context.Context, to streams, operation string) error {
	print, err := fingerprintOf(c.Key)
	if err != nil {
		return usage(err)
	}
	return c.change(ctx, to, wire.KeyringRequest{Operation: operation, Fingerprint: print})
}

type keyringUseCommand struct{ namedKey }

func (c *keyringUseCommand) Run(ctx context.Context, to streams) error {
	return c.changeNamed(ctx, to, wire.KeyringUse)
}

type keyringRemoveCommand struct{ namedKey }

func (c *keyringRemoveCommand) Run(ctx context.Context, to streams) error {
	return c.changeNamed(ctx, to, wire.KeyringRemove)
}

type keyringGenerateCommand struct{}

func (keyringGenerateCommand) Run(to streams) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	_, err := fmt.Fprintln(to.out, base64.StdEncoding.EncodeToString(key))
	return err
}

// keyring sends a request to the first member that answers.
func (g gridFlags) keyring(ctx context.Context, in wire.KeyringRequest) (out wire.KeyringResponse, err error) {
	err = g.request(ctx, wire.PathKeyring, in, &out)
	return out, err
}

// errNotEverywhere reports a change that not every member made.
var errNotEverywhere = errors.New("some members did not apply it; the list has the reasons")

// change makes a change at every member, and prints the outcome at each.
func (g gridOutput) change(ctx context.Context, to streams, in wire.KeyringRequest) error {
	out, err := g.keyring(ctx, in)
	if err != nil {
		return err
	}
	if err := g.result(to.out, out, func(w io.Writer) { printKeyring(w, out) }); err != nil {
		return err
	}
	if slices.ContainsFunc(out.Members, func(m wire.KeyringMember) bool { return m.Error != "" }) {
		return errNotEverywhere
	}
	return nil
}

func printKeyring(w io.Writer, out wire.KeyringResponse) {
	fmt.Fprint(w, "NAME\tMEMBER\tAPI\tENCRYPTS\tOTHER KEYS\tRESULT\n")
	for _, m := range out.Members {
		encrypts, others, result := "-", "-", "done"
		if len(m.Keys) > 0 {
			encrypts = m.Keys[0]
		}
		if len(m.Keys) > 1 {
			others = strings.Join(m.Keys[1:], " ")
		}
		if m.Unsaved != "" {
			result = "in memory only"
		}
		if m.Error != "" {
			result = m.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", orNone(short(m.Name, 20)), m.Incarnation.Member(), m.API, encrypts,
			others, result)
	}
	for _, advice := range out.Advice {
		fmt.Fprintf(w, "! %s\n", advice)
	}
}

// keyTextMax is more than a file with a key has.
const keyTextMax = 64 << 10

// readKey returns the key named by an argument. Its errors omit the key.
func readKey(named string) ([]byte, error) {
	text := named
	if name, isFile := strings.CutPrefix(named, "@"); named == "-" || isFile {
		from := io.Reader(os.Stdin)
		if isFile {
			file, err := os.Open(name)
			if err != nil {
				return nil, notRead(named, err)
			}
			defer func() { _ = file.Close() }()
			from = file
		}
		read, err := io.ReadAll(io.LimitReader(from, keyTextMax))
		if err != nil {
			return nil, notRead(named, err)
		}
		text = string(read)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		return nil, fmt.Errorf("there are %d keys; give one", len(lines))
	}
	return security.ParseGossipKey(lines[0])
}

// notRead returns the error for a file with a key that cannot be read.
func notRead(named string, err error) error {
	return fmt.Errorf("%s: %s; give a file with one key, as printed by snowgrid keyring generate", named, cause(err))
}

// fingerprintOf returns named if it is a fingerprint, else the fingerprint of the key it names.
func fingerprintOf(named string) (string, error) {
	if spelling.IsHex(named, 8) {
		return named, nil
	}
	key, err := readKey(named)
	if err != nil {
		return "", err
	}
	return security.Fingerprint(key), nil
}
