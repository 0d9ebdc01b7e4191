package oauthbearer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// file is a key set in a file.
type file struct {
	path     string
	size     int64
	modified time.Time
}

func (*file) every() time.Duration { return leastInterval }

func (f *file) read(context.Context) ([]byte, error) {
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", f.path)
	case info.Size() == f.size && info.ModTime().Equal(f.modified):
		return nil, nil
	}
	raw, err := limited(opened)
	if err == nil {
		f.size, f.modified = info.Size(), info.ModTime()
	}
	return raw, err
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
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", r.url.Redacted(), answer.Status)
	}
	return limited(answer.Body)
}

func limited(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxSet+1))
	if err == nil && len(raw) > maxSet {
		return nil, fmt.Errorf("the key set has more than %d bytes", maxSet)
	}
	return raw, err
}
