package grid

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/owner"
	"github.com/snowgrid/snowgrid/partition"
)

// Store implements owner.Member. This member has no store for definitions yet: it
// acknowledges nothing.
func (o *actor) Store(owner.Write) {}

// ReportStored implements owner.Member.
func (o *actor) ReportStored(partition.Incarnation, backup.Position) {}

// Collect implements owner.Member.
func (o *actor) Collect(owner.Collection) {}

// DefinitionsCollected implements owner.Member.
func (o *actor) DefinitionsCollected(partition.ID, partition.MemberID, int) {}
