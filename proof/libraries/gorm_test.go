package libraries

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Order is a model whose key comes from a sequencer.
type Order struct {
	ID     sequencer.ID `gorm:"primaryKey"`
	Title  string
	Parent *sequencer.ID
	Items  []Item
}

// Item is a part of an order.
type Item struct {
	ID      sequencer.ID `gorm:"primaryKey"`
	OrderID sequencer.ID
}

func open(dir string) (*gorm.DB, error) {
	db, err := gorm.Open(sqlite.Open(dir+"/orders.db"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	return db, db.AutoMigrate(&Order{}, &Item{})
}

// TestGormNumbersNoRow: a row whose ID was forgotten has the ID 0, so that the second one
// is an error. It has none that a sequencer may issue.
func TestGormNumbersNoRow(t *testing.T) {
	db, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&Order{ID: id, Title: "with"}).Error; err != nil {
		t.Fatal(err)
	}
	forgotten := Order{Title: "without"}
	if err := db.Create(&forgotten).Error; err != nil || forgotten.ID != 0 {
		t.Errorf("the first row without an ID: %d, %v", forgotten.ID, err)
	}
	if err := db.Create(&Order{Title: "without"}).Error; err == nil {
		t.Error("a second row without an ID was stored")
	}
	var ddl string
	if err := db.Raw("select sql from sqlite_master where name = 'orders'").Scan(&ddl).Error; err != nil ||
		strings.Contains(strings.ToUpper(ddl), "AUTOINCREMENT") {
		t.Errorf("%s, %v", ddl, err)
	}
	s, err := schema.Parse(&Order{}, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	if f := s.LookUpField("ID"); f.AutoIncrement || f.DataType != "bigint" { // whatever the database is
		t.Errorf("AutoIncrement %t, type %s", f.AutoIncrement, f.DataType)
	}
}

func TestGormReads(t *testing.T) {
	db, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parent := id - 1
	in := []Order{{ID: id, Parent: &parent, Items: []Item{{ID: 7}, {ID: 8}}}, {ID: id + 1}}
	if err := db.Create(&in).Error; err != nil {
		t.Fatal(err)
	}
	var out []Order
	if err := db.Preload("Items").Order("id").Find(&out, "id in ?", []sequencer.ID{id, id + 1}).Error; err != nil {
		t.Fatal(err)
	}
	if len(out) != 2 || out[0].ID != id || *out[0].Parent != parent || len(out[0].Items) != 2 ||
		out[0].Items[1].OrderID != id || out[1].Parent != nil {
		t.Errorf("read %+v", out)
	}
}

// A model of gorm with IDs of a sequencer: the ID is set before Create.
func Example_gorm() {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Order{}, &Item{}); err != nil {
		panic(err)
	}
	next := func() (sequencer.ID, error) { return id, nil } // orders.Next(ctx)
	id, err := next()
	if err != nil {
		panic(err)
	}
	if err := db.Create(&Order{ID: id, Title: "shoes"}).Error; err != nil {
		panic(err)
	}
	var found Order
	db.First(&found, id)
	fmt.Println(found.ID, found.Title)
	// Output: 235067008364840961 shoes
}
