package sql_test

import (
	"testing"

	storesql "github.com/snowgrid/snowgrid/client/sql"
)

// TestStoreNamesItself: messages name the database and the table.
func TestStoreNamesItself(t *testing.T) {
	if got := storesql.New(nil, storesql.MySQL, "app.ids").String(); got != "MySQL table app.ids" {
		t.Errorf("it is named %q", got)
	}
}
