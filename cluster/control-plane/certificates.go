package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

type certificateRequest struct {
	Name          string   `json:"name"`
	CommonName    string   `json:"commonName"`
	Organizations []string `json:"organizations"`
	IPs           []string `json:"ips"`
	DNSNames      []string `json:"dnsNames"`
}

// runCertificates reads {dir, certificates} as JSON on stdin and writes NAME.crt and NAME.key for each,
// signed by the cluster's own authority, which it makes on first use together with the key that signs
// service-account tokens. What exists is kept: a second run adds, it never replaces.
func runCertificates() int {
	var order struct {
		Dir          string               `json:"dir"`
		Certificates []certificateRequest `json:"certificates"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		return fail("certificates: stdin", err)
	}
	authority, key, err := authorityIn(order.Dir)
	if err != nil {
		return fail("certificates: authority", err)
	}
	if err := serviceAccountKeyIn(order.Dir); err != nil {
		return fail("certificates: service account key", err)
	}
	for _, request := range order.Certificates {
		if err := issue(order.Dir, request, authority, key); err != nil {
			return fail("certificates: "+request.Name, err)
		}
	}
	return 0
}

func authorityIn(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certificate, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return newAuthority(dir)
	} else if err != nil {
		return nil, nil, err
	}
	keyText, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, nil, err
	}
	certificateBlock, _ := pem.Decode(certificate)
	keyBlock, _ := pem.Decode(keyText)
	if certificateBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("ca.crt or ca.key in %s holds no PEM block", dir)
	}
	parsed, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	return parsed, key, err
}

func newAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := template("fettle-dev")
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	return certificate, key, write(dir, "ca", der, key)
}

func issue(dir string, request certificateRequest, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey) error {
	if _, err := os.Stat(filepath.Join(dir, request.Name+".crt")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := template(request.CommonName)
	template.Subject.Organization = request.Organizations
	template.DNSNames = request.DNSNames
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, text := range request.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return fmt.Errorf("%q is not an IP address", text)
		}
		template.IPAddresses = append(template.IPAddresses, ip)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), authorityKey)
	if err != nil {
		return err
	}
	return write(dir, request.Name, der, key)
}

func template(commonName string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(10, 0, 0),
	}
}

func write(dir, name string, der []byte, key *ecdsa.PrivateKey) error {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	// The key first: a certificate without its key would count as issued.
	if err := writePEM(filepath.Join(dir, name+".key"), "EC PRIVATE KEY", keyDER); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der)
}

func serviceAccountKeyIn(dir string) error {
	path := filepath.Join(dir, "service-account.key")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	return writePEM(path, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
