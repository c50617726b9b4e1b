package sessions

// KeyID names an access key. It is no secret.
type KeyID string
