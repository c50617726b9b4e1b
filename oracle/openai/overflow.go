package openai

import (
	"encoding/json"
	"strings"
)

// problem is an error as servers of the API write it: below "error", or as the
// whole body. Some write a number as the code.
type problem struct {
	Code    any    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// tooLong reports whether an error, a JSON object, says that the model's context
// window does not take the request: by OpenAI's code, by llama.cpp's type, or in
// the words of others.
func tooLong(data string) bool {
	var body struct {
		problem
		Error problem `json:"error"`
	}
	if json.Unmarshal([]byte(data), &body) != nil {
		return false
	}
	for _, p := range []problem{body.Error, body.problem} {
		if p.Code == "context_length_exceeded" || p.Type == "exceed_context_size_error" ||
			strings.Contains(p.Message, "maximum context length") {
			return true
		}
	}
	return false
}
