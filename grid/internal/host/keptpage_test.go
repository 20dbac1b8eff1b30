package host

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestPagesOfKeptDefinitions: definitions in memory are read page by page, each name once,
// and from the first page again when they have changed between two pages.
func TestPagesOfKeptDefinitions(t *testing.T) {
	kept := definitions.Table{Position: backup.Position{Term: 3, Number: 7}, Definitions: partition.Definitions{Base: 5}}
	for i := range 5000 {
		def, err := sequencer.Define(fmt.Sprintf("orders-%05d", i), sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		kept.Records = append(kept.Records, definitions.Record{Ref: attachment.Ref{Definition: def}})
	}
	var got partition.Definitions
	req := member.CollectRequest{Term: 4, Lost: 4}
	pages := 0
	for more := true; more; pages++ {
		page := keptPage(kept, req)
		got.Base, got.Records, more = page.Base, append(got.Records, page.Records...), page.More
		req.Revision, req.After = page.Revision, page.Records[len(page.Records)-1].Ref.Definition.Name()
	}
	if pages < 3 || !reflect.DeepEqual(got, kept.Definitions) {
		t.Errorf("%d records in %d pages, want %d in several", len(got.Records), pages, len(kept.Records))
	}
	kept.Position.Number++
	if page := keptPage(kept, req); page.Revision == req.Revision || page.Records[0].Ref != kept.Records[0].Ref {
		t.Errorf("after a change the page begins with %v", page.Records[0].Ref)
	}
	if page := keptPage(definitions.Table{Position: kept.Position}, member.CollectRequest{}); page.Revision == 0 ||
		page.More || len(page.Records) > 0 {
		t.Errorf("the page of no name is %+v", page)
	}
}
