package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agenthost/sessions"
)

// quoteBytes bounds what a message quotes of a schema, a pointer or a name.
const quoteBytes = 200

// explain says in words for the model which argument breaks which rule. The
// validator's own text would repeat the whole argument at every level.
func (s *argSchema) explain(err error) *Failure {
	at, schemaAt, text := trace(err)
	bad := badArgs{at: at}
	switch keyword, rest, _ := strings.Cut(text, ":"); {
	case keyword == "required":
		_, names, _ := strings.Cut(rest, "properties: ")
		bad.what = "must also have " + shorten(names)
	case strings.HasPrefix(text, "unexpected additional properties "):
		bad.what = "must not have " + shorten(strings.TrimPrefix(text, "unexpected additional properties "))
	default:
		keyword, _, _ = strings.Cut(keyword, "[")
		bad.what = "must satisfy the schema's " + s.quoteRule(schemaAt, keyword)
	}
	return bad.failure()
}

// trace follows the validator's chain of errors, of which each link names the
// subschema it stands for. It returns the JSON pointer of the argument, with *
// for any one item of a list or unnamed member, that of the rule's subschema,
// and the last link's text, which begins with the rule's keyword.
func trace(err error) (at, schemaAt, text string) {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return at, schemaAt, err.Error()
		}
		link := strings.TrimSuffix(err.Error(), ": "+inner.Error())
		next, ok := strings.CutPrefix(link, "validating ")
		if ok {
			if !strings.HasPrefix(next, "/") {
				next = "" // the root goes by a name of its own, or by its $id
			}
			at += stepInto(schemaAt, next)
			schemaAt = next
		}
		err = inner
	}
}

// stepInto returns how the argument's pointer grows when validation goes from
// one subschema to another: only a subschema for a member or an item leads
// further into the arguments.
func stepInto(from, to string) string {
	step, below := strings.CutPrefix(to, from+"/")
	if !below {
		return ""
	}
	keyword, name, _ := strings.Cut(step, "/")
	switch {
	case keyword == "properties" || keyword == "prefixItems":
		return "/" + name
	case step == "items" || step == "additionalItems" || step == "additionalProperties" ||
		step == "unevaluatedItems" || step == "unevaluatedProperties" || keyword == "patternProperties":
		return "/*"
	default:
		return ""
	}
}

// quoteRule returns the keyword with its value in the subschema at a pointer.
func (s *argSchema) quoteRule(schemaAt, keyword string) string {
	quoted := strconv.Quote(shorten(keyword))
	if schema, ok := lookup(s.document, schemaAt).(map[string]any); ok && schema[keyword] != nil {
		if value, err := json.Marshal(schema[keyword]); err == nil {
			return quoted + " of " + shorten(string(value))
		}
	}
	return quoted
}

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns a segment of a JSON pointer: of a name, or an index.
func pointer(segment any) string { return "/" + escaper.Replace(fmt.Sprint(segment)) }

// lookup returns the value at a JSON pointer of a document, or nil.
func lookup(document any, at string) any {
	if at == "" {
		return document
	}
	for segment := range strings.SplitSeq(at[1:], "/") {
		switch value := document.(type) {
		case map[string]any:
			document = value[unescaper.Replace(segment)]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(value) {
				return nil
			}
			document = value[i]
		default:
			return nil
		}
	}
	return document
}

// shorten cuts s to at most quoteBytes bytes of valid UTF-8.
func shorten(s string) string {
	if len(s) <= quoteBytes {
		return s
	}
	return strings.ToValidUTF8(s[:quoteBytes-len("…")], "") + "…"
}

func messageOf(err error) string {
	if coded, ok := errors.AsType[*sessions.Error](err); ok {
		return coded.Message
	}
	return err.Error()
}
