package config

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// lineWidth is what a printed line keeps to where the key's length allows.
const lineWidth = 80

// Print writes the values in effect with their sources, as lines for people or
// as one JSON value. No secret is among
// them, only where it is kept.
func (c *Config) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		return c.printJSON(w)
	}
	if err := c.printHead(w); err != nil {
		return err
	}
	widest := 0
	for _, v := range c.values {
		widest = max(widest, utf8.RuneCountInString(v.Key))
	}
	room := max(20, lineWidth-widest-len(SourceDefault)-4)
	for _, v := range c.values {
		if _, err := fmt.Fprintf(w, "%-*s  %-*s  %s\n", widest, v.Key, len(SourceDefault), v.Source, shorten(textOf(v.Value), room)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) printHead(w io.Writer) error {
	file := c.File
	if file == "" {
		file = "none"
	}
	_, err := fmt.Fprintf(w, "# file: %s\n", file)
	return err
}

func (c *Config) printJSON(w io.Writer) error {
	type entry struct {
		Value  any    `json:"value"`
		Source Source `json:"source"`
		Origin string `json:"origin,omitempty"`
	}
	all := struct {
		File     string           `json:"file,omitempty"`
		Settings map[string]entry `json:"settings"`
	}{c.File, map[string]entry{}}
	for _, v := range c.values {
		all.Settings[v.Key] = entry{v.Value, v.Source, v.Origin}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(all)
}

func textOf(value any) string {
	switch v := value.(type) {
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case string:
		return strings.ReplaceAll(v, "\n", " ")
	default:
		return fmt.Sprint(v)
	}
}

// shorten cuts text to width characters.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
