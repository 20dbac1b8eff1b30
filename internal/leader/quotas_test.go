package leader

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// limited returns a leader whose grid has one quota.
func limited(t *testing.T) *office {
	o := durably(t)
	kept := *o.v.Roster
	kept.Quotas = []roster.Quota{{Pattern: "a*", Names: 5}}
	o.v.Roster = &kept
	return o
}

// TestSetQuotas: limits are set one by one, and a limit that is as requested changes nothing.
func TestSetQuotas(t *testing.T) {
	for what, c := range map[string]struct {
		in   SettingsRequest
		want []roster.Quota
	}{
		"another limit": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "a*", Calls: number(7)}}},
			[]roster.Quota{{Pattern: "a*", Names: 5, Calls: 7}}},
		"another row": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "*", PeerNodes: number(1)}}},
			[]roster.Quota{{Pattern: "*", PeerNodes: 1}, {Pattern: "a*", Names: 5}}},
		"in its place": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "b", Names: number(1)}},
			DropQuotas: []spelling.Pattern{"a*"}}, []roster.Quota{{Pattern: "b", Names: 1}}},
		"none": {SettingsRequest{DropQuotas: []spelling.Pattern{"a*"}}, nil},
		"as it is": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "a*", Names: number(5)}}},
			[]roster.Quota{{Pattern: "a*", Names: 5}}},
	} {
		o := limited(t)
		answers := o.set(c.in)
		o.agree()
		if len(*answers) != 1 || (*answers)[0] != nil || !reflect.DeepEqual(o.v.Roster.Quotas, c.want) {
			t.Errorf("%s: answers %v, quotas %+v, want %+v", what, *answers, o.v.Roster.Quotas, c.want)
		}
	}
}

func TestSetQuotasRefused(t *testing.T) {
	for what, c := range map[string]struct {
		in   SettingsRequest
		kind error
		want string
	}{
		"negative": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "b", Names: number(-1)}}}, ErrBadRequest,
			`quota "b": names is -1; give 1 to 1000000000, or 0 for no limit`},
		"nameless": {SettingsRequest{Quotas: []roster.QuotaEdit{{Names: number(1)}}}, ErrBadRequest, "give 1 to 255 bytes"},
		"twice": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "b"}, {Pattern: "b"}}}, ErrBadRequest,
			"given twice"},
		"invisible": {SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "b\u2800*", Names: number(1)}}}, ErrBadRequest,
			"the pattern contains the invisible character U+2800 at position 2"},
		"no such":   {SettingsRequest{DropQuotas: []spelling.Pattern{"b"}}, ErrNotNow, `quota "b": there is none`},
		"and other": {SettingsRequest{Backups: number(2), DropQuotas: []spelling.Pattern{"b"}}, ErrNotNow, "there is none"},
	} {
		o := limited(t)
		commands := len(o.commands)
		answers := o.set(c.in)
		if len(*answers) != 1 || !errors.Is((*answers)[0], c.kind) || !strings.Contains((*answers)[0].Error(), c.want) ||
			len(o.commands) != commands {
			t.Errorf("%s: answers %v, want %s", what, *answers, c.want)
		}
	}
}
