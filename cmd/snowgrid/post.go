package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/snowgrid/snowgrid/wire"
)

// postTo sends an operator's request to one incarnation of a member.
func postTo(ctx context.Context, addr, incarnation, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", wire.JSON)
	request.Header.Set(wire.HeaderTarget, incarnation)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, wire.MaxBody))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		var refused wire.Error
		if json.Unmarshal(answer, &refused) == nil && refused.Message != "" {
			return refusal(refused)
		}
		return fmt.Errorf("%s: HTTP status %s", addr, response.Status)
	}
	return json.Unmarshal(answer, out)
}
