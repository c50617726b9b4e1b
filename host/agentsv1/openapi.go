package agentsv1

import _ "embed"

//go:embed openapi.yaml
var description []byte

// openAPI serves the description of what is served.
func (v *visit) openAPI(named) error {
	v.w.Header().Set("Content-Type", "application/yaml")
	_, _ = v.w.Write(description) // a client that has gone away reads no error
	return nil
}
