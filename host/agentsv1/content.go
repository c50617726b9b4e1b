package agentsv1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"net/url"
	"path"
	"strings"

	"agenthost/host/api/strictjson"
	"agenthost/sessions"
)

// inputMessage is one message of a user.
type inputMessage struct {
	Type    string            `json:"type" strict:"nonempty"`
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// inputOf reads what is to be said: a text, or messages. Several messages become
// one of the history, since a turn answers one.
func inputOf(raw json.RawMessage, at string) ([]sessions.Content, error) {
	if raw[0] == '"' {
		var text string
		if err := decode(raw, at, &text); err != nil {
			return nil, err
		}
		if text == "" {
			return nil, invalid(dotted(at), "The input must not be empty.")
		}
		return sessions.Text(text), nil
	}
	var messages []inputMessage
	if err := decode(raw, at, &messages); err != nil {
		return nil, err
	}
	var all []sessions.Content
	for i, m := range messages {
		parts, err := m.parts(strictjson.PointerAt(at, i))
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	if len(all) == 0 {
		return nil, invalid(dotted(at), "The input needs at least one message.")
	}
	return all, nil
}

func (m inputMessage) parts(at string) ([]sessions.Content, error) {
	switch {
	case m.Role != "user":
		return nil, invalid(dotted(at+"/role"), "The role of an input message is user.")
	case m.Type != "" && m.Type != "message":
		return nil, invalid(dotted(at+"/type"), "The type of an input message is message.")
	case len(m.Content) == 0:
		return nil, invalid(dotted(at+"/content"), "An input message needs content.")
	}
	var parts []sessions.Content
	for i, raw := range m.Content {
		part, err := partOf(raw, strictjson.PointerAt(at+"/content", i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// inputPart is a part of a message or of a tool's output.
type inputPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	ImageURL *string `json:"image_url"`
}

func partOf(raw json.RawMessage, at string) (sessions.Content, error) {
	var part inputPart
	if err := decode(raw, at, &part); err != nil {
		return sessions.Content{}, err
	}
	switch {
	case part.Type == "input_text" && part.Text != nil && part.ImageURL == nil:
		if *part.Text == "" {
			return sessions.Content{}, invalid(dotted(at+"/text"), "The text must not be empty.")
		}
		return sessions.Content{Type: sessions.ContentText, Text: *part.Text}, nil
	case part.Type == "input_image" && part.ImageURL != nil && part.Text == nil:
		return imageOf(*part.ImageURL, dotted(at+"/image_url"))
	}
	return sessions.Content{}, invalid(dotted(at+"/type"), "A part is an input_text with a text, or an input_image with an image_url.")
}

// imageOf reads an image's URL, which may hold the image itself.
func imageOf(raw, param string) (sessions.Content, error) {
	image := sessions.Content{Type: sessions.ContentImage}
	if data, ok := strings.CutPrefix(raw, "data:"); ok {
		media, encoded, ok := strings.Cut(data, ";base64,")
		if !ok || !strings.HasPrefix(media, "image/") {
			return image, invalid(param, "An image in a data URL is given as data:image/…;base64,….")
		}
		image.MediaType, image.Data = media, encoded
		return image, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return image, invalid(param, "The URL of an image is a data URL or an absolute http or https URL.")
	}
	media, _, _ := mime.ParseMediaType(mime.TypeByExtension(path.Ext(u.Path)))
	if !strings.HasPrefix(media, "image/") {
		media = ""
	}
	image.MediaType, image.URL = cmp.Or(media, "image/jpeg"), raw
	return image, nil
}

// contentView is a part of a message as this API shows it.
type contentView struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	ImageURL *string `json:"image_url,omitempty"`
}

// viewInput returns what a user said.
func viewInput(content []sessions.Content) []contentView {
	views := []contentView{}
	for _, c := range content {
		switch c.Type {
		case sessions.ContentImage:
			views = append(views, contentView{Type: "input_image", ImageURL: new(cmp.Or(c.URL, "data:"+c.MediaType+";base64,"+c.Data))})
		case sessions.ContentJSON:
			views = append(views, contentView{Type: "input_text", Text: new(string(c.Value))})
		default:
			views = append(views, contentView{Type: "input_text", Text: &c.Text})
		}
	}
	return views
}

// viewOutput returns what a tool gave: a text, or a list of parts if it is one.
func viewOutput(content []sessions.Content) any {
	if len(content) != 1 || content[0].Type != sessions.ContentJSON {
		return sessions.TextOf(content)
	}
	value := content[0].Value
	var text *string
	if json.Unmarshal(value, &text) == nil {
		if text == nil {
			return ""
		}
		return *text
	}
	var parts []inputPart
	if json.Unmarshal(value, &parts) == nil && isParts(value) {
		return value
	}
	return string(value)
}

// isParts reports whether a JSON list holds nothing but parts of content.
func isParts(list json.RawMessage) bool {
	var parts []json.RawMessage
	if !bytes.HasPrefix(list, []byte("[")) || json.Unmarshal(list, &parts) != nil {
		return false
	}
	for _, part := range parts {
		if _, err := partOf(part, ""); err != nil {
			return false
		}
	}
	return true
}
