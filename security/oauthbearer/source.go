package oauthbearer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/iggykafka/gateway/internal/smallfile"
)

// file is a key set in a file, which is read when it has changed.
type file struct {
	path     string
	size     int64
	modified time.Time
}

func (*file) every() time.Duration { return leastInterval }

func (f *file) read(context.Context) ([]byte, error) {
	info, err := os.Stat(f.path)
	if err == nil && info.Size() == f.size && info.ModTime().Equal(f.modified) {
		return nil, nil
	}
	raw, err := smallfile.Read(f.path, maxSet)
	if err != nil {
		return nil, fmt.Errorf("%s %w; it takes a URL that begins with https://, or a file with a JSON Web Key Set", f.path, err)
	}
	if info != nil {
		f.size, f.modified = info.Size(), info.ModTime()
	}
	return raw, nil
}

// remote is a key set behind a URL.
type remote struct {
	url    *url.URL
	client *http.Client
}

// maxRedirects is how often a server may send on to another place.
const maxRedirects = 3

func newRemote(u *url.URL) *remote {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // looks are rare
	return &remote{url: u, client: &http.Client{Transport: transport, CheckRedirect: redirect}}
}

// redirect says why a server may not send on to another place.
func redirect(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return errors.New("it sends on too often")
	case via[0].URL.Scheme == "https" && to.URL.Scheme != "https":
		return errors.New("it sends on to a place without https")
	}
	return checkURL(to.URL)
}

func (*remote) every() time.Duration { return longestPeriod }

func (r *remote) read(ctx context.Context) ([]byte, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := r.client.Do(ask)
	if stranger := (x509.UnknownAuthorityError{}); errors.As(err, &stranger) {
		err = fmt.Errorf("%w; have this machine trust that authority", err)
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", r.url.Redacted(), answer.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxSet+1))
	if err == nil && len(raw) > maxSet {
		return nil, fmt.Errorf("%s answers with more than %d bytes", r.url.Redacted(), maxSet)
	}
	return raw, err
}
