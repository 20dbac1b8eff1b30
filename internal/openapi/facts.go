package openapi

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// fact is the knowledge about a type or a field that its Go type does not have. It has no default values:
// generators for TypeScript require a field with a default.
type fact struct {
	about string
	// required means that a request without the field is refused.
	required bool
	// hidden fields are for calls between members; a caller that is not a member cannot set them.
	hidden bool
	// full means that a list in a reply is never null.
	full bool
	// orText means that a request may have a text in place of the object.
	orText bool
	// least and most bound a number, the characters of a text, or the elements of a list, in requests.
	// Without a most the field has no bounds.
	least, most int64
}

// bound returns a field's schema in requests.
func (f fact) bound(schema object) object {
	keys := map[any][2]string{"integer": {"minimum", "maximum"}, "string": {"minLength", "maxLength"},
		"array": {"minItems", "maxItems"}, "object": {"minProperties", "maxProperties"}}[schema["type"]]
	if f.most > 0 && keys[0] != "" {
		schema[keys[1]] = f.most
		if f.least > 0 || keys[0] == "minimum" {
			schema[keys[0]] = f.least
		}
	}
	if f.orText {
		schema = object{"oneOf": []object{{"type": "string"}, schema}}
	}
	return schema
}

// Facts of many fields.
var (
	sequencerName = fact{about: fmt.Sprintf("The sequencer: 1 to %d bytes in UTF-8.", wire.MaxSequencerName),
		required: true, least: 1, most: wire.MaxSequencerName}
	setCluster = fact{about: "The set's cluster.", required: true, least: 1, most: numbers.MaxSetName}
	setName    = fact{about: "The set's name.", required: true, least: 1, most: numbers.MaxSetName}
	number     = fact{about: "The number.", required: true, least: 1, most: numbers.MaxNumber - 1}
	code       = fact{about: "128 random bits, which prove that the number is the process's own.", required: true}
	addr       = fact{about: "The process's address.", most: spelling.MaxPlain}
	page       = fact{
		about: fmt.Sprintf("The largest row count, %d unless stated.", wire.DefaultPage), most: wire.MaxPage}
	used   = fact{about: "IDs and waiting calls since the last answered request, for metrics."}
	labels = fact{about: fmt.Sprintf("Up to %d texts that snowgrid holders prints.", wire.MaxLabels),
		most: wire.MaxLabels}
	limit = fact{about: "The limit; 0 is none.", most: roster.MaxQuota}
)

// facts has an entry for a type by its name, and for a field by the name of its type and its own in JSON.
// A field without an entry is in the document without a description.
var facts = map[string]fact{
	"IDsRequest.name":   sequencerName,
	"IDsRequest.n":      {about: "How many IDs to make, 1 unless stated.", least: 1, most: wire.MaxIDs},
	"IDsRequest.create": {about: "Creates the sequencer if it does not exist."},
	"IDsCreate": {about: "Defines a sequencer that does not exist. An existing one with another definition is a " +
		"conflict."},
	"IDsCreate.epoch": {about: "Unix milliseconds; the layout's, or 2026-01-01, unless stated."},
	"IDsCreate.nodes": {
		about: "Logical nodes: a power of 2 within the layout; the layout's unless stated.", most: 8192},
	"IDsCreate.layout": {
		about: "default, jssafe, twitter, discord, numbers as in 63/22/1024, or an object.", orText: true},
	"Layout":          {about: "How an ID divides into time, node and counter."},
	"Layout.bits":     {about: "Bits in an ID.", required: true, most: 63},
	"Layout.low_bits": {about: "Bits below the time, for node and counter together.", required: true, most: 24},
	"Layout.nodes":    {about: "The most logical nodes: a power of 2.", required: true, most: 8192},
	"IDsResponse.ids": {about: "Ascending; there may be gaps.", full: true},

	"GrantRequest.name": {about: "The sequencer; required without grant.", least: 1, most: wire.MaxSequencerName},
	"GrantRequest.grant": {
		about: "The newest reply's grant; absent in the first request.", most: wire.MaxGrantToken},
	"GrantRequest.create": {about: "Creates the sequencer if it does not exist; only without grant."},
	"GrantRequest.low":    {about: "Reserved; omit it."},
	"GrantRequest.used":   used, "GrantRequest.labels": labels,
	"GrantResponse": {about: "IDs are (t - epoch) << time_shift | node << node_shift | c, for from <= t < until, " +
		"t < ends and 0 <= c < counters. docs/grants.md has the rules."},
	"GrantResponse.grant":       {about: "To be sent back unchanged. A secret."},
	"GrantResponse.replaced":    {about: "Whether node is another one than in the request's grant."},
	"GrantResponse.now":         {about: "The grid's time, Unix milliseconds."},
	"GrantResponse.from":        {about: "The grant's first timestamp, Unix milliseconds."},
	"GrantResponse.until":       {about: "The grant's end, Unix milliseconds."},
	"GrantResponse.ends":        {about: "No ID has this timestamp or a later one, Unix milliseconds."},
	"GrantResponse.epoch":       {about: "Unix milliseconds."},
	"GrantResponse.renew_in_ms": {about: "When to send the next request."},
	"GrantRelease.grant": {
		about: "The newest reply's grant.", required: true, least: 1, most: wire.MaxGrantToken},
	"GrantRelease.last": {about: "The last ID's timestamp, 0 for none. Absent: any in the grant."},
	"GrantRelease.used": used,

	"StatusRequest.local": {about: "Omits the parts that need other members."},
	"Status": {
		about: "The grid's state, as the answering member sees it. docs/output.md has the fields."},

	"SequencersRequest.prefix": {about: "Only names that begin with it.", most: wire.MaxSequencerName},
	"SequencersRequest.after": {
		about: "The page begins with the first name above it.", most: wire.MaxSequencerName},
	"SequencersRequest.limit": page,
	"SequencersRequest.busiest": {
		about: "The sequencers with the most IDs in the last minutes, in place of all by name."},
	"SequencersRequest.destroyed": {
		about: "Destroyed sequencers whose definitions the grid keeps, in place of the others."},
	"SequencersRequest.local":       {about: "Only sequencers that the answering member owns."},
	"SequencersRequest.names":       {hidden: true},
	"SequencersResponse.names":      {about: "Patterns of the names that the caller may use; absent = all."},
	"SequencersResponse.next":       {about: "The next page's after; absent on the last page."},
	"SequencersResponse.sequencers": {full: true},
	"Coverage.unreachable":          {about: "Members that did not answer: their sequencers are missing."},
	"Coverage.unlisted":             {about: "Partitions whose sequencers are missing."},
	"SequencerRow.ids_per_second":   {about: "About the rate in the last minutes."},
	"HoldersRequest.name":           sequencerName,
	"HoldersRequest.after":          {about: "The page begins with the first logical node above it.", most: 8191},
	"HoldersRequest.limit":          page,
	"HoldersRequest.forwarded":      {hidden: true},
	"HoldersResponse.more":          {about: "Whether there are further logical nodes."},
	"HoldersResponse.holders":       {full: true},
	"HolderRow.holder":              {about: "The process's random ID, shortened."},
	"HolderRow.shown_ms":            {about: "Time since its last request."},

	"SettingsRequest": {
		about: "New values; an omitted one stays. An empty object only reads the settings."},
	"SettingsRequest.backups": {about: "Copies in addition to the owner's.", most: roster.MaxBackups},
	"SettingsRequest.window_ms": {about: "How far all grants extend beyond the grid's time.",
		most: int64(roster.MaxWindow)},
	"SettingsRequest.voters":        {about: "Members that vote.", most: roster.MaxVoters},
	"SettingsRequest.expect":        {about: "Members that are meant to run.", most: roster.MaxExpect},
	"SettingsRequest.window_stated": {about: "Confirms that every member's configuration has the window."},
	"SettingsRequest.quotas":        {about: "Limits by pattern.", most: roster.MaxQuotas},
	"SettingsRequest.drop_quotas":   {about: "Patterns whose limits are removed.", most: roster.MaxQuotas},
	"SettingsResponse.quotas":       {full: true},
	"QuotaEdit.pattern": {
		about: "Names, with * for any characters.", required: true, least: 1, most: spelling.PatternMax},
	"QuotaEdit.names": limit, "QuotaEdit.holder_nodes": limit,
	"QuotaEdit.peer_nodes": limit, "QuotaEdit.calls": limit,
	"Relay": {hidden: true},

	"DestroyRequest.name": sequencerName,
	"DestroyRequest.life": {about: "The generation to destroy; absent: the present one."},
	"Stamp.version":       {about: "The roster's version."},
	"Stamp.time":          {about: "The grid's time, Unix milliseconds."},

	"IdentityListRequest.cluster": {about: "Only this cluster's sets.", most: numbers.MaxSetName},
	"IdentityListRequest.name":    {about: "Only this set, with its members.", most: numbers.MaxSetName},
	"IdentityListRequest.after":   {about: "With one set: only larger numbers.", most: numbers.MaxNumber},
	"IdentityNextRequest.cluster": setCluster, "IdentityNextRequest.name": setName,
	"IdentityApplyRequest.cluster": setCluster, "IdentityApplyRequest.name": setName,
	"IdentityApplyRequest.id": number, "IdentityApplyRequest.code": code, "IdentityApplyRequest.addr": addr,
	"IdentityRegisterRequest.cluster": setCluster, "IdentityRegisterRequest.name": setName,
	"IdentityRegisterRequest.id": number, "IdentityRegisterRequest.code": code, "IdentityRegisterRequest.addr": addr,
	"IdentityRegisterRequest.start":       {about: "Random, drawn once in each start."},
	"IdentityRegisterRequest.incarnation": {about: "0 at the start; then the answered one, every again_ms."},
	"IdentityRegisterRequest.protocol":    {about: "The process's protocol version.", most: 1 << 31},
	"IdentityRegisterRequest.member":      {about: "The member ID, if the process is a member."},
	"IdentityRegisterRequest.nodes": {
		about: "The process's logical nodes by sequencer.", most: wire.MaxPreferredNodes},
	"IdentityRegisterResponse.again_ms": {about: "After which the process registers again."},
	"IdentityCleanRequest.cluster":      setCluster, "IdentityCleanRequest.name": setName,
	"IdentityCleanRequest.ids":    {about: "The numbers.", required: true, least: 1, most: wire.MaxNumbers},
	"IdentityCleanRequest.force":  {about: "Removes the numbers of running processes, too."},
	"IdentityDropRequest.cluster": setCluster, "IdentityDropRequest.name": setName,
	"IdentityImportRequest.cluster": setCluster, "IdentityImportRequest.name": setName,
	"IdentityImportRequest.next": {about: "The least number that the set gives next.", most: numbers.MaxNumber},
	"IdentityImportRequest.incarnation": {
		about: "The greatest that the set gave before.", most: numbers.MaxNumber - 1},
	"IdentitySet.incarnation":       {about: "The greatest that the set has given."},
	"IdentityImportRequest.members": {about: "Numbers to import.", most: wire.MaxNumbers},
	"Application.id":                number,
	"Application.code":              {about: "Absent: the first process that registers with the number has it."},
	"Application.addr":              addr,
	"IdentityMember.alive":          {about: "null while the leader has no information yet."},
	"IdentityMember.state":          {about: "applied, registered, or imported without a code."},

	"Node":              {about: "A member: its incarnation, IP, gossip port and API port."},
	"LeavingNode.id":    {about: "The member's incarnation: another member refuses the call.", most: 255},
	"Node.id":           {about: "The incarnation; may be omitted.", most: 255},
	"Node.address":      {about: "IP or DNS name.", required: true, least: 1, most: 253},
	"Node.protocolPort": {about: "Its gossip port.", required: true, least: 1, most: 65535},
	"Node.servicePort":  {about: "Its API port; may be omitted.", most: 65535},
	"Subscribed.nodes":  {full: true}, "Subscribed.rumorsToSend": {full: true},
	"Subscribed.suspectingNodesTimeout": {full: true},

	"Error.code":        {about: "What went wrong, for programs; docs/api.md has each one's remedy."},
	"Error.message":     {about: "The value, the limit and the remedy, for people."},
	"Error.version":     {about: "The roster's version."},
	"Error.code_legacy": {about: "RocketMQ's controller code for the same refusal."},
	"Error.next":        {about: "The number that the set gives next, with the code id_refused."},
	"Error.retry_after_ms": {
		about: "Milliseconds until the same call may succeed; absent if time alone does not help."},

	"IndexResponse.paths": {full: true}, "PathInfo.methods": {full: true},
	"ReadyResponse.conditions": {full: true},
}
