// Package strictjson reads JSON that must mean one thing only.
//
// encoding/json forgives what a protocol should not: names in another case,
// names given twice, bytes that are not UTF-8, halves of surrogate pairs,
// unknown fields, null where a value is meant. Decode refuses all of these with
// INVALID_REQUEST and a JSON pointer to the place. Whatever it accepts,
// encoding/json reads with the same meaning.
//
// It owns the form of a text and the types of its values, not their ranges or
// sizes. The time and memory it takes grow linearly with the text, nesting is
// bounded. Everything here is safe for concurrent use.
package strictjson
