package membermetrics

import "github.com/snowgrid/snowgrid/metrics/internal/metric"

// A member's families.
var (
	buildInfo = metric.Gauge("build_info",
		"1, with the release, the commit and the compiler that this member was built with.", "version", "commit", "goversion")
	protocolSupported = metric.Gauge("protocol_supported", "Newest protocol that this member has.")
	protocolInUse     = metric.Gauge("protocol_in_use", "Protocol of the roster, which every member has.")

	ready        = metric.Gauge("ready", "1 if this member is ready (GET /readyz).")
	settled      = metric.Gauge("settled", "1 if one more member can be stopped without loss (GET /v1/settled).")
	hasLeader    = metric.Gauge("has_leader", "1 if this member knows a leader.")
	leads        = metric.Gauge("leader", "1 if this member leads the grid.")
	members      = metric.Gauge("members", "Members of the roster.")
	membersAlive = metric.Gauge("members_alive",
		"Members of the roster that this member sees alive by gossip, itself among them.")
	voters         = metric.Gauge("voters", "Voters, the members that agree by Raft.")
	votersAlive    = metric.Gauge("voters_alive", "Voters that this member sees alive by gossip, itself among them.")
	foreignMembers = metric.Gauge("foreign_members", "Members of other grids of the same name that were met.")
	membersJoined  = metric.Counter("members_joined_total",
		"Members that joined the grid, as seen by this member since its start.")
	membersRemoved = metric.Counter("members_removed_total",
		"Members that left the grid or were removed, as seen by this member since its start.")
	alerts = metric.Gauge("alerts", "1 for each alert that holds by the knowledge of this member, 0 for the others.",
		"name", "severity")

	clusterTime = metric.Gauge("cluster_time_seconds", "Cluster time in Unix seconds; absent while unknown.")
	ceilingLead = metric.Gauge("ceiling_lead_seconds",
		"Time from cluster time to the ceiling, where all grants end; absent while unknown.")
	window = metric.Gauge("window_seconds",
		"Window of the grid: the distance to which the ceiling is raised.")
	clockOffset = metric.Gauge("clock_offset_seconds",
		"How far this member's wall clock is ahead of cluster time.")
	voterClockOffset = metric.Gauge("voter_clock_offset_seconds",
		"How far the wall clock of each voter is ahead of cluster time, as the leader has read it; on the leader alone.",
		"voter")
	anchorHeld = metric.Gauge("anchor_held",
		"1 if the grid holds its anchor; of a grid with an anchor, on the leader alone.")

	partitions        = metric.Gauge("partitions", "Partitions of the grid.")
	partitionsOwned   = metric.Gauge("partitions_owned", "Partitions that this member owns.")
	partitionsUnowned = metric.Gauge("partitions_unowned", "Partitions of the grid without an owner.")
	partitionsAwaited = metric.Gauge("partitions_awaiting_disks",
		"Partitions of the grid that wait for a disk with their definitions.")
	replicas = metric.Gauge("replicas_in_sync",
		"Replicas in sync at this member, with those of the partitions that it owns.")
	copiesMissing = metric.Gauge("partition_copies_missing",
		"Copies of all partitions that are missing, of those configured, or possible with the members there are.")
	copiesJoining = metric.Gauge("partition_copies_joining", "Copies of all partitions that are being made.")
	moves         = metric.Counter("partition_moves_total",
		"Changes of a partition's owner by plan, as seen by this member since its start.")
	takeovers = metric.Counter("partition_takeovers_total",
		"Changes of a partition's owner in place of one that was gone or did not answer, as seen by this member since its "+
			"start.")
	losses = metric.Counter("partition_losses_total",
		"Partitions of which no copy was left, as seen by this member since its start.")

	sequencers     = metric.Gauge("sequencers", "Sequencers whose partitions this member owns, at most 1000.")
	sequencerNodes = metric.Gauge("sequencer_nodes",
		"Logical nodes of the sequencers whose partitions this member owns.", "sequencer")
	sequencerAttached  = metric.Gauge("sequencer_nodes_attached", "Logical nodes that are attached.", "sequencer")
	sequencerFree      = metric.Gauge("sequencer_nodes_free", "Logical nodes that are free.", "sequencer")
	sequencerExhausted = metric.Gauge("sequencer_exhausted_timestamp_seconds",
		"When the epoch ends, in Unix seconds; of the others the earliest.", "sequencer")
	sequencerIDs = metric.Counter("sequencer_ids_total",
		"IDs that holders have reported to this member as the owner.", "sequencer")
	sequencerWaits = metric.Counter("sequencer_grant_waits_total",
		"Calls that had to wait for a grant, as holders have reported them to this member as the owner.", "sequencer")

	requests = metric.Counter("api_requests_total",
		"Requests to the API, by path and the code of the answer (ok, an error's code, unready, none).", "path", "code")
	inProgress = metric.Gauge("api_requests_in_progress", "Requests of holders that are served or wait.")
	shed       = metric.Counter("api_shed_total",
		"Requests, event streams and connections that were refused because the member has too much to do or they are too "+
			"many, and handshakes that were dropped unfinished.", "kind")
	refused = metric.Counter("quota_refusals_total",
		"Creates, attaches and calls that a quota has refused: names, memory, holder-nodes, peer-nodes or calls.", "kind")
	streams     = metric.Gauge("api_event_streams", "Open event streams, one for each holder that listens.")
	connections = metric.Gauge("api_connections", "Open connections to the API.")
	accepted    = metric.Counter("api_connections_accepted_total", "Connections to the API that were accepted.")
	attaches    = metric.Histogram("attach_duration_seconds",
		"Time in which this member, as the owner, answered attaches without errors.")

	replication = metric.Histogram("replication_duration_seconds",
		"Time in which replicas acknowledged updates of the partitions that this member owns.")
	replicationLag = metric.Gauge("replication_lag_seconds",
		"For how long the slowest in-sync replica, or voter that keeps the definitions in memory, of the partitions that "+
			"this member owns has not acknowledged an update; 0 if none is on its way.")

	diskWrites = metric.Histogram("disk_write_duration_seconds",
		"Time of writes to the data directory, each with its fsync; absent without one.", "store")
	diskFailed = metric.Gauge("disk_failed",
		"1 if the data directory has failed and this member takes part no longer.")

	certificateExpiry = metric.Gauge("certificate_expiry_timestamp_seconds",
		"When the TLS certificate of this member ends, or its authority if that is first, in Unix seconds; absent without "+
			"TLS.")
)

// memberFamilies are a member's families besides its handles'.
var memberFamilies = []*metric.Family{
	buildInfo, protocolSupported, protocolInUse,
	ready, settled, hasLeader, leads, members, membersAlive, voters, votersAlive, foreignMembers, membersJoined,
	membersRemoved, alerts,
	clusterTime, ceilingLead, window, clockOffset, voterClockOffset, anchorHeld,
	partitions, partitionsOwned, partitionsUnowned, partitionsAwaited, replicas, copiesMissing, copiesJoining, moves,
	takeovers, losses,
	sequencers, sequencerNodes, sequencerAttached, sequencerFree, sequencerExhausted, sequencerIDs, sequencerWaits,
	requests, inProgress, shed, refused, streams, connections, accepted, attaches,
	replication, replicationLag, diskWrites, diskFailed, certificateExpiry,
}
