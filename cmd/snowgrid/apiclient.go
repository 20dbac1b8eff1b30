package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/tcp"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const answerBytesMax = 64 << 20

// notAnsweredError reports that no member replied at an address.
type notAnsweredError struct {
	addr  string
	cause error
}

func (e *notAnsweredError) Error() string {
	return fmt.Sprintf("no member answers at %s (%s)", e.addr, connectionReason(e.cause))
}

func (e *notAnsweredError) Unwrap() error { return e.cause }

// Is reports whether target is errNoMember.
func (e *notAnsweredError) Is(target error) bool { return target == errNoMember }

// connectionReason describes in a few words why a connection failed.
func connectionReason(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "unknown host"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		strings.HasSuffix(err.Error(), "server closed idle connection"): // net/http: before the request was sent
		return "the connection was closed without an answer, as by a gossip or Raft port; give the API address"
	}
	return err.Error()
}

// eachUntilAnswered tries the addresses in order until a member replies, and returns its address. Each
// gets an equal share of the remaining time. A refusal leads to the next address, since another member
// may serve.
func eachUntilAnswered(ctx context.Context, addrs []string,
	ask func(ctx context.Context, addr string) error) (string, error) {
	var silent, refusals []string
	var refused error
	for i, addr := range addrs {
		asking, cancel := withShare(ctx, len(addrs)-i)
		err := ask(asking, addr)
		cancel()
		if err == nil {
			return addr, nil
		}
		if unanswered, is := errors.AsType[*notAnsweredError](err); is {
			silent = append(silent, fmt.Sprintf("%s (%s)", addr, connectionReason(unanswered.cause)))
			continue
		}
		refused = err
		if text := sentence(err); isNotTrusted(err) { // it names the address
			refusals = append(refusals, text)
		} else {
			refusals = append(refusals, addr+": "+text)
		}
	}
	if refused == nil {
		return "", fmt.Errorf("%w at %s; check --addr (SNOWGRID_ADDR), and that a member runs there", errNoMember,
			strings.Join(silent, ", "))
	}
	if len(silent) > 0 {
		refusals = append(refusals, "no member answers at "+strings.Join(silent, ", "))
	}
	return "", failure.Errorf(refused, "%s", strings.Join(refusals, "; "))
}

// withShare returns a context that ends after one share of the time that ctx has left.
func withShare(ctx context.Context, shares int) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited || shares <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(shares))
}

// fetchStatusOfAny queries the addresses in order until one answers, and returns the
// status and that address.
func fetchStatusOfAny(ctx context.Context, addrs []string) (status grid.Status, addr string, err error) {
	addr, err = eachUntilAnswered(ctx, addrs, func(ctx context.Context, addr string) (err error) {
		status, err = fetchStatus(ctx, addr)
		return err
	})
	return status, addr, err
}

func fetchStatus(ctx context.Context, addr string) (status grid.Status, err error) {
	err = call(ctx, http.MethodGet, addr, wire.PathStatus, http.Header{"Accept": {wire.JSON}}, nil, &status)
	return status, err
}

// fetchStatusInGrid is fetchStatusOfAny for a change to the grid, which a member that is part of none
// refuses. Such a member counts only if no other one answers.
func fetchStatusInGrid(ctx context.Context, addrs []string) (status grid.Status, addr string, err error) {
	var first grid.Status
	waiting := "" // the first member that is part of no grid
	addr, err = eachUntilAnswered(ctx, addrs, func(ctx context.Context, addr string) (err error) {
		status, err = fetchStatus(ctx, addr)
		if err == nil && status.Version == 0 {
			if waiting == "" {
				first, waiting = status, addr
			}
			err = errors.New("part of no grid")
		}
		return err
	})
	if err != nil && waiting != "" {
		return first, waiting, nil
	}
	return status, addr, err
}

// atMember runs f with the status and the address of the first member that answers, if possible of one
// that is part of a grid.
func (g gridFlags) atMember(ctx context.Context,
	f func(ctx context.Context, status grid.Status, addr string) error) error {
	return g.ask(ctx, func(ctx context.Context) error {
		status, addr, err := fetchStatusInGrid(ctx, g.Addr)
		if err != nil {
			return err
		}
		return f(ctx, status, addr)
	})
}

// request sends a request to the first member that answers, if possible to a member in a grid.
func (g gridFlags) request(ctx context.Context, path string, in, out any) error {
	return g.atMember(ctx, func(ctx context.Context, _ grid.Status, addr string) error {
		return postTo(ctx, addr, "", path, in, out)
	})
}

// status returns the status from the first member that answers.
func (g gridFlags) status(ctx context.Context) (status grid.Status, err error) {
	err = g.ask(ctx, func(ctx context.Context) (err error) {
		status, _, err = fetchStatusOfAny(ctx, g.Addr)
		return err
	})
	return status, asking(err)
}

// postTo sends an operator's request to one incarnation.
func postTo(ctx context.Context, addr, incarnation, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {wire.JSON}}
	if incarnation != "" {
		header.Set(wire.HeaderTarget, incarnation)
	}
	return call(ctx, http.MethodPost, addr, path, header, body, out)
}

// call makes one request and decodes the answer. A refusal matches its sentinel; an error
// on the connection is a notAnsweredError.
func call(ctx context.Context, method, addr, path string, header http.Header, body []byte, out any) error {
	response, answer, err := exchange(ctx, method, addr, path, header, body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		var refused wire.Error
		if json.Unmarshal(answer, &refused) == nil && refused.Message != "" {
			return refusal(refused)
		}
		return fmt.Errorf("HTTP status %s; check that this is a member's API address", response.Status)
	}
	return json.Unmarshal(answer, out)
}

// exchange makes one request and reads the answer, whatever its status.
func exchange(ctx context.Context, method, addr, path string, header http.Header, body []byte) (*http.Response, []byte,
	error) {
	to := accessOf(ctx)
	request, err := http.NewRequestWithContext(ctx, method, tcp.URL(to.scheme, addr, path), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(request.Header, header)
	request.Header.Set("User-Agent", "snowgrid/"+buildinfo.Read().Short())
	response, err := to.do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	switch {
	case err != nil:
		return nil, nil, &notAnsweredError{addr: addr, cause: err}
	case response.StatusCode == http.StatusBadRequest &&
		bytes.Contains(answer, []byte("HTTP request to an HTTPS server")):
		return nil, nil, expectsTLS(addr)
	}
	return response, answer, nil
}
