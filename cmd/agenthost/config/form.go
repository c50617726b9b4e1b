package config

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// form is the shape of a setting's value. Read values are a string, an int64, a
// float64 or a []string; a duration stays the text it was written as.
type form int

const (
	formText form = iota
	formDuration
	formInteger
	formList
	formDurationOrOff // 0 means off
	formIntegerFromZero
	formNumber
	formSchema      // a JSON object, as its text
	formClientTools // a JSON list of sessions.ClientTool, as its text
)

// fromYAML reads a value as the YAML parser gives it. The second result says
// what is wrong, "" if nothing.
func (f form) fromYAML(raw any) (any, string) {
	switch f {
	case formText:
		if text, ok := raw.(string); ok {
			return readText(text)
		}
		return nil, "must be text; put it in quotes"
	case formDuration:
		if text, ok := raw.(string); ok {
			return readDuration(text)
		}
		return nil, "must be a duration such as 10m or 1h30m"
	case formDurationOrOff:
		if text, ok := raw.(string); ok {
			return readDurationOrOff(text)
		}
		if n, complaint := readIntegerFrom(0, raw); complaint != "" || n != int64(0) {
			return nil, "must be a duration such as 10m or 1h30m, or 0 for off"
		}
		return "0", ""
	case formInteger:
		return readIntegerFrom(1, raw)
	case formIntegerFromZero:
		return readIntegerFrom(0, raw)
	case formNumber:
		return readNumber(raw)
	case formSchema:
		return readSchema(raw)
	case formClientTools:
		return readClientTools(raw)
	default:
		return readList(raw)
	}
}

// fromText reads a value as the environment and flags give it. A list is
// separated by commas, or written in brackets as in YAML.
func (f form) fromText(text string) (any, string) {
	switch f {
	case formText:
		return readText(text)
	case formDuration:
		return readDuration(text)
	case formDurationOrOff:
		return readDurationOrOff(text)
	case formInteger, formIntegerFromZero:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, "must be a whole number"
		}
		return f.fromYAML(n)
	case formNumber:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, "must be a number"
		}
		return readNumber(n)
	case formSchema:
		return readSchema(text)
	case formClientTools:
		return readClientTools(text)
	default:
		return listFromText(text)
	}
}

func readText(text string) (any, string) {
	if !utf8.ValidString(text) {
		return nil, "must be valid UTF-8"
	}
	return text, ""
}

func readDuration(text string) (any, string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, "must be a duration such as 10m or 1h30m"
	}
	if d <= 0 {
		return nil, "must be longer than nothing"
	}
	return text, ""
}

func readDurationOrOff(text string) (any, string) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return nil, "must be a duration such as 10m or 1h30m, or 0 for off"
	case d < 0:
		return nil, "must not be negative; 0 means off"
	}
	return text, ""
}

func readIntegerFrom(least int64, raw any) (any, string) {
	var n int64
	switch v := raw.(type) {
	case int64:
		n = v
	case uint64:
		if v > math.MaxInt64 {
			return nil, "is too large"
		}
		n = int64(v)
	default:
		return nil, "must be a whole number"
	}
	if n < least {
		return nil, fmt.Sprintf("must be at least %d", least)
	}
	return n, ""
}

func readNumber(raw any) (any, string) {
	switch v := raw.(type) {
	case float64:
		return v, ""
	case int64:
		return float64(v), ""
	case uint64:
		return float64(v), ""
	default:
		return nil, "must be a number"
	}
}

// readSchema reads a mapping, or the text of a JSON object.
func readSchema(raw any) (any, string) {
	const complaint = "must be a JSON Schema: a mapping, or the text of a JSON object"
	text, isText := raw.(string)
	if !isText {
		if _, ok := raw.(map[string]any); !ok {
			return nil, complaint
		}
		written, err := json.Marshal(raw)
		if err != nil {
			return nil, complaint
		}
		text = string(written)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
		return nil, complaint
	}
	return text, ""
}

func readList(raw any) (any, string) {
	items, ok := raw.([]any)
	if !ok {
		return nil, "must be a list such as [a, b]"
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, "must be a list of texts; put each in quotes"
		}
		list = append(list, text)
	}
	return list, ""
}

func listFromText(text string) (any, string) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		var raw []any
		if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
			return nil, "must be a list such as [a, b]"
		}
		return readList(raw)
	}
	list := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list, ""
}
