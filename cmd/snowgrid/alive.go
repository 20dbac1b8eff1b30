package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// aliveCommand asks one member whether it is alive, for images without curl.
type aliveCommand struct {
	Addr    string        `help:"API address of the member, host:port." default:"127.0.0.1:7948" env:"SNOWGRID_ALIVE_ADDR"`
	Timeout time.Duration `help:"Time limit for the answer." default:"3s"`
}

// Help returns the part of --help between the usage and the flags.
func (aliveCommand) Help() string {
	return `The health check of a container: the exit status is 0 if the member answers, 1 otherwise. It says nothing of
the grid: a member that waits for its grid is alive, and restarting it would not help.

    HEALTHCHECK CMD ["/snowgrid", "alive"]

Whether the member can serve is at /readyz, and whether the grid is well is told by "snowgrid status".`
}

// Run asks once.
func (a *aliveCommand) Run(ctx context.Context, to streams) error {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Addr+"/livez", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no member answers at %s: %w", a.Addr, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 100))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s to /livez: %.100q; is it the API address of a member?", a.Addr, response.Status, answer)
	}
	fmt.Fprintln(to.out, "alive")
	return nil
}
