package roster

// Holding reports that a joining replica has the table at its owner's mark, by an owner that acted
// at exactly this version (R5).
type Holding struct {
	Replica
	Version Version `json:"version"`
}

// Persisted reports that every durable in-sync replica of a partition has its table on disk, by an
// owner that acted at exactly this version (D4).
type Persisted struct {
	Partition PartitionID `json:"partition"`
	Version   Version     `json:"version"`
}
