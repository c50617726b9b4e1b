package anthropic

import (
	"encoding/json"
	"strings"
)

// tooLong reports whether an error, a JSON object, says that the model's context
// window does not take the request. The API has no code of its own for that.
func tooLong(data string) bool {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(data), &body) != nil {
		return false
	}
	switch body.Error.Type {
	case "request_too_large":
		return true
	case "invalid_request_error":
		return strings.Contains(body.Error.Message, "prompt is too long") ||
			strings.Contains(body.Error.Message, "exceed context limit")
	default:
		return false
	}
}
