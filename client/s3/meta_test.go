package s3

import (
	"maps"
	"testing"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/client/store"
)

func TestMetadataSurvivesAHeader(t *testing.T) {
	_, cli := startServer(t)
	s := New(cli, "bucket", "")
	for i, task := range []string{"", "web-7", "zwölf", " spaces ", "a\nb", "=?utf-8?b?eA==?=", "日本", "a=?b", "\x00"} {
		meta := map[string]string{"taskid": task}
		e := store.Entry{Key: string(rune('a' + i)), Body: newBody(), Meta: meta}
		mustSwap(t, s, e)
		have, err := s.Load(t.Context(), e.Key)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(have.Meta, meta) {
			t.Errorf("%q was read as %q", task, have.Meta["taskid"])
		}
	}
}

func FuzzMeta(f *testing.F) {
	f.Add("web-7")
	f.Add("=?utf-8?q?x?=")
	f.Add("ä")
	f.Fuzz(func(t *testing.T, value string) {
		encoded := encodeMeta(map[string]string{"taskid": value}, "w")
		if !plain(encoded["taskid"]) && encoded["taskid"][0] != '=' {
			t.Errorf("%q is encoded as %q", value, encoded["taskid"])
		}
		decoded, write := decodeMeta(encoded)
		if write != "w" || len(decoded) != 1 {
			t.Errorf("decoded %v, %q", decoded, write)
		}
		if got := decoded["taskid"]; got != value && utf8.ValidString(value) {
			t.Errorf("%q is decoded as %q", value, got)
		}
	})
}
