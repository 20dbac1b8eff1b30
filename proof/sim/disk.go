package sim

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/owner"
	"github.com/snowgrid/snowgrid/partition"
)

// Store implements owner.Member. Members have no store for definitions here yet.
func (o *actor) Store(owner.Write) {}

// ReportStored implements owner.Member.
func (o *actor) ReportStored(partition.Incarnation, backup.Position) {}

// Collect implements owner.Member.
func (o *actor) Collect(owner.Collection) {}

// ReportPersisted implements owner.Member.
func (o *actor) ReportPersisted(partition.Persisted) {}

// DefinitionsCollected implements owner.Member.
func (o *actor) DefinitionsCollected(partition.ID, partition.MemberID, int) {}
