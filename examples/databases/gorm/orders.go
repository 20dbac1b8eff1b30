// Package orders stores rows with gorm. A [sequencer.ID] tells gorm its column type, bigint, so the database does not
// number the rows.
package orders

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Order is a row. db.AutoMigrate(&Order{}) creates the table.
type Order struct {
	ID   sequencer.ID `gorm:"primaryKey"`
	Item string       `gorm:"not null"`
}

// Insert stores orders, a thousand with each statement.
func Insert(ctx context.Context, db *gorm.DB, orders []Order) error {
	return db.WithContext(ctx).CreateInBatches(orders, 1000).Error
}

// Between returns the orders from one time to another, both included.
func Between(ctx context.Context, db *gorm.DB, d sequencer.Definition, from, to time.Time) ([]Order, error) {
	var orders []Order
	err := db.WithContext(ctx).Where("id BETWEEN ? AND ?", d.MinID(from), d.MaxID(to)).Order("id").Find(&orders).Error
	return orders, err
}
