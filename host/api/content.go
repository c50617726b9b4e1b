package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// contentBound is what one message's content may measure.
type contentBound struct {
	limit string // its configuration name
	max   int64  // bytes
}

// checkContent checks the parts of one message, their number and their size.
func checkContent(field string, content []sessions.Content, limits sessions.Limits, bound contentBound) error {
	if len(content) > limits.ContentParts {
		return sessions.TooLarge("contentParts", int64(limits.ContentParts),
			"The content has %d parts, more than the limit of %d.", len(content), limits.ContentParts).With("field", field)
	}
	if size := sessions.ContentBytes(content); size > bound.max {
		return sessions.TooLarge(bound.limit, bound.max,
			"The content has %d bytes, more than the limit of %d.", size, bound.max).With("field", field)
	}
	for i, part := range content {
		if err := checkPart(strictjson.PointerAt(field, i), part); err != nil {
			return err
		}
	}
	return nil
}

// checkPart checks that a part has the fields of its type, and no others.
func checkPart(field string, part sessions.Content) error {
	switch part.Type {
	case sessions.ContentText:
		if part.Text == "" {
			return sessions.InvalidField(field+"/text", "A text part needs a text that is not empty.")
		}
		return cmp.Or(onlyFields(field, part, "text"), checkText(field+"/text", part.Text))
	case sessions.ContentImage:
		return cmp.Or(onlyFields(field, part, "mediaType", "data", "url"), checkImage(field, part))
	case sessions.ContentJSON:
		if part.Value == nil {
			return sessions.InvalidField(field+"/value", "A json part needs a value that is not null.")
		}
		return cmp.Or(onlyFields(field, part, "value"), checkRaw(field+"/value", part.Value))
	}
	return exactlyOneOf(field+"/type", part.Type, sessions.ContentText, sessions.ContentImage, sessions.ContentJSON)
}

// onlyFields refuses a part with a field that is not among names.
func onlyFields(field string, part sessions.Content, names ...string) error {
	allowed := map[string]bool{}
	for _, name := range names {
		allowed[name] = true
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"text", part.Text != ""}, {"mediaType", part.MediaType != ""}, {"data", part.Data != ""},
		{"url", part.URL != ""}, {"value", part.Value != nil},
	} {
		if f.set && !allowed[f.name] {
			return sessions.InvalidField(field+"/"+f.name, "A part of type %s has no field %s.", part.Type, f.name)
		}
	}
	return nil
}

func checkImage(field string, part sessions.Content) error {
	subtype, ok := strings.CutPrefix(part.MediaType, "image/")
	if !ok || subtype == "" || len(subtype) > 100 || strings.ContainsFunc(subtype, notMediaToken) {
		return sessions.InvalidField(field+"/mediaType", "An image needs a mediaType such as image/png.")
	}
	if (part.Data == "") == (part.URL == "") {
		return sessions.InvalidField(field+"/data", "An image needs exactly one of data and url.")
	}
	if part.URL != "" {
		return checkImageURL(field+"/url", part.URL)
	}
	if _, err := base64.StdEncoding.DecodeString(part.Data); err != nil || strings.ContainsAny(part.Data, "\r\n") {
		return sessions.InvalidField(field+"/data", "The data of an image must be base64 with padding and without line breaks.")
	}
	return nil
}

// notMediaToken reports whether r may not stand in the subtype of a media type.
func notMediaToken(r rune) bool {
	alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !alnum && !strings.ContainsRune("!#$&-^_.+", r)
}

func checkImageURL(field, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return sessions.InvalidField(field, "The url of an image must be an absolute http or https URL.")
	}
	return checkText(field, raw)
}

// checkRaw refuses what is not one strict JSON value, which only Go callers can
// give: what came through DecodeArgs has been checked.
func checkRaw(field string, raw json.RawMessage) error {
	var value json.RawMessage
	return strictjson.Decode(raw, field, &value)
}
