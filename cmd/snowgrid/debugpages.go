package main

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/logring"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
)

// logKept bounds the log kept in memory for a debug bundle.
const logKept = 1 << 20

// debugPages are the pages besides the profiles that a debug bundle collects. They are
// served where the profiles are: on loopback alone, and only with --pprof.
type debugPages struct {
	log      *logring.Ring
	settings []setting // the agent's, without values of secrets
}

func (p *debugPages) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/log", func(w http.ResponseWriter, _ *http.Request) {
		plainPage(w)
		text, missed := p.log.Text()
		if missed > 0 {
			fmt.Fprintf(w, "(%s discarded)\n", counted(missed, "earlier line"))
		}
		_, _ = w.Write(text) // the reader may have gone
	})
	mux.HandleFunc("GET /debug/config", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = printSettings(w, "json", p.settings)
	})
	mux.HandleFunc("GET /debug/build", func(w http.ResponseWriter, _ *http.Request) {
		plainPage(w)
		text := buildinfo.Read().Short() + "\n"
		if info, found := debug.ReadBuildInfo(); found {
			text += info.String()
		}
		fmt.Fprintln(w, strings.TrimSpace(text))
	})
}

func plainPage(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain; charset=utf-8") }
