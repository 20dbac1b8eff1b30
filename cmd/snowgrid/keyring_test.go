package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// TestKeyOfAnArgument: a key is given by itself, in a file or by its fingerprint, and no
// error shows it.
func TestKeyOfAnArgument(t *testing.T) {
	const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	print := security.Fingerprint(make([]byte, 32))
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "@" + name
	}
	for _, named := range []string{print, key, file(key), file("# a key\n\n" + key + "\n")} {
		if got, err := fingerprintOf(named); got != print || err != nil {
			t.Errorf("%s: %s, %v", named, got, err)
		}
	}
	for named, want := range map[string]string{
		key[:40]: "not a gossip key", "": "there are 0 keys", file(""): "there are 0 keys",
		file(key + "\n" + key): "there are 2 keys", "@/no/such/file": "no such file",
	} {
		if _, err := readKey(named); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%q: %v, want %s", named, err, want)
		}
	}
}

// TestKeyringTable: the action of each member, and the advice.
func TestKeyringTable(t *testing.T) {
	var out strings.Builder
	err := aligned(&out, func(w io.Writer) {
		printKeyring(w, wire.KeyringResponse{
			Members: []wire.KeyringMember{
				{Name: "m1", Incarnation: "aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb", API: "10.0.0.1:7948",
					Keys: []string{"11111111", "22222222"}},
				{Name: "m2", Incarnation: "cccccccccccccccc-bbbbbbbbbbbbbbbb", API: "10.0.0.2:7948", Keys: []string{"11111111"},
					Unsaved: "x"},
				{Incarnation: "dddddddddddddddd-bbbbbbbbbbbbbbbb", API: "10.0.0.3:7948", Error: "no answer"},
			},
			Advice: []string{"do this"},
		})
	})
	const want = `NAME  MEMBER            API            ENCRYPTS  OTHER KEYS  RESULT
m1    aaaaaaaaaaaaaaaa  10.0.0.1:7948  11111111  22222222    done
m2    cccccccccccccccc  10.0.0.2:7948  11111111  -           in memory only
-     dddddddddddddddd  10.0.0.3:7948  -         -           no answer
! do this
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}
