package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// handleIndex returns the handler that lists the paths of the API, with their methods and a
// line about each.
func (a *Server) handleIndex(t *routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var out wire.IndexResponse
		for _, path := range slices.SortedFunc(maps.Keys(t.handlers), comparePaths) {
			if t.local[path] && !isLocal(r) {
				continue
			}
			var methods []string
			for _, method := range slices.Sorted(maps.Keys(t.handlers[path])) {
				if method != http.MethodHead {
					methods = append(methods, method)
				}
			}
			out.Paths = append(out.Paths, wire.PathInfo{Path: path, Methods: methods,
				About: cmp.Or(accesses[onGet(path)].about, accesses[onPost(path)].about)})
		}
		if wantsJSON(r) {
			a.answer(w, wire.JSON, http.StatusOK, out)
			return
		}
		var text strings.Builder
		text.WriteString("snowgrid: the API of a member\n\n")
		table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, p := range out.Paths {
			fmt.Fprintf(table, "%s\t%s\t%s\n", strings.Join(p.Methods, ","), p.Path, p.About)
		}
		_ = table.Flush() // a strings.Builder takes everything
		plain(w, http.StatusOK, strings.TrimSuffix(text.String(), "\n"))
	}
}

func comparePaths(a, b string) int {
	const members = "/v1/member/"
	switch inA, inB := strings.HasPrefix(a, members), strings.HasPrefix(b, members); {
	case inA && !inB:
		return 1
	case inB && !inA:
		return -1
	}
	return strings.Compare(a, b)
}
