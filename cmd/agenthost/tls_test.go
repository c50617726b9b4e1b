package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/cmd/agenthost/config"
)

// writePair writes a certificate with a number, and its key, as of a time.
func writePair(t *testing.T, c config.TLS, number int64, at time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(number), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for path, block := range map[string]*pem.Block{c.Cert: {Type: "CERTIFICATE", Bytes: cert}, c.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	folder := t.TempDir()
	c := config.TLS{Cert: filepath.Join(folder, "cert.pem"), Key: filepath.Join(folder, "key.pem")}
	_, err := tlsOf(c)
	require.ErrorContains(t, err, "INVALID_REQUEST: ")
	none, err := tlsOf(config.TLS{})
	require.NoError(t, err)
	require.Nil(t, none)

	start := time.Now().Add(-time.Hour)
	writePair(t, c, 1, start)
	secured, err := tlsOf(c)
	require.NoError(t, err)
	number := func() int64 {
		pair, err := secured.GetCertificate(nil)
		require.NoError(t, err)
		return pair.Leaf.SerialNumber.Int64()
	}
	require.EqualValues(t, 1, number())
	writePair(t, c, 2, start.Add(time.Minute))
	require.EqualValues(t, 2, number())
	require.NoError(t, os.WriteFile(c.Cert, []byte("half"), 0o600))
	require.EqualValues(t, 2, number(), "a renewal that is not done yet")
	writePair(t, c, 3, start.Add(2*time.Minute))
	require.EqualValues(t, 3, number())
}
