package wire

// ReadyResponse lists a member's readiness conditions, met and unmet: GET /readyz?verbose with Accept:
// application/json.
type ReadyResponse struct {
	Ready      bool        `json:"ready"`
	Conditions []Condition `json:"conditions"`
}

// Condition is one condition for a member's readiness.
type Condition struct {
	Name string `json:"name"`
	Met  bool   `json:"met"`
	// Reason is the reason that the condition is unmet; "" if it is met, or was skipped after an earlier
	// unmet one.
	Reason string `json:"reason,omitempty"`
}
