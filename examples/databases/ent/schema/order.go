// Package schema has the tables for ent.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Order is a row of the table orders.
type Order struct{ ent.Schema }

// Fields returns the columns. Without the annotation ent has the database number the rows.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(sequencer.ID(0)).Annotations(entsql.Annotation{Incremental: new(false)}),
		field.String("item"),
	}
}
