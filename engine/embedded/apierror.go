package embedded

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is an error that a client sees, as OpenAI and vLLM write it.
type apiError struct {
	status  int
	kind    string
	message string
	param   string
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...), param}
}

func writeError(w http.ResponseWriter, e *apiError) {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}
	b := body{Message: e.message, Type: e.kind, Code: e.status}
	if e.param != "" {
		b.Param = &e.param
	}
	writeJSON(w, e.status, map[string]body{"error": b})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}
