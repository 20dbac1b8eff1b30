package wire

// ReadyResponse lists the conditions under which a member is ready, with the ones that are
// not met: GET /readyz?verbose with Accept: application/json.
type ReadyResponse struct {
	Ready      bool        `json:"ready"`
	Conditions []Condition `json:"conditions"`
}

// Condition is one of the conditions under which a member is ready.
type Condition struct {
	Name string `json:"name"`
	Met  bool   `json:"met"`
	// Reason says why the condition is not met; "" if it is, or if it was not looked at since
	// an earlier one is not met.
	Reason string `json:"reason,omitempty"`
}
