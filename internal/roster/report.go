package roster

// Holding reports that a joining replica has the owner's table up to its mark. The owner reported
// it at exactly this version (R5).
type Holding struct {
	Replica
	Version Version `json:"version"`
}

// Persisted reports that every durable in-sync replica has the partition's table on disk. The owner
// reported it at exactly this version (D4).
type Persisted struct {
	Partition PartitionID `json:"partition"`
	Version   Version     `json:"version"`
}
