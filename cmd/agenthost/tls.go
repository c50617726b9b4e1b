package main

import (
	"crypto/tls"
	"os"
	"sync"
	"time"

	"agenthost/cmd/agenthost/config"
	"agenthost/sessions"
)

// tlsOf returns how TCP connections are secured, nil when they are not.
func tlsOf(c config.TLS) (*tls.Config, error) {
	if !c.On() {
		return nil, nil
	}
	files := &certificateFiles{names: c}
	if _, err := files.current(nil); err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalidRequest,
			"The certificate %s and the key %s do not make a pair that can be used; look at tls.cert and tls.key.", c.Cert, c.Key).Because(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: files.current}, nil
}

// certificateFiles is a certificate that is read again when its files have changed,
// so that a renewal needs no restart.
type certificateFiles struct {
	names config.TLS

	mu    sync.Mutex
	times [2]time.Time // of the files that were read last
	pair  *tls.Certificate
}

// current returns the certificate of the files, or the one before while they do not
// make a pair: a renewal may be under way.
func (f *certificateFiles) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	times := [2]time.Time{changedAt(f.names.Cert), changedAt(f.names.Key)}
	if f.pair != nil && times == f.times {
		return f.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(f.names.Cert, f.names.Key)
	switch {
	case err == nil:
		f.pair, f.times = &pair, times
	case f.pair == nil:
		return nil, err
	}
	return f.pair, nil
}

// changedAt returns when a file was changed, the zero time when that is unknown.
func changedAt(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
