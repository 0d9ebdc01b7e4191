package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// scrapeEvery is how often a target's metrics are read, as far as they are.
const scrapeEvery = time.Second

// scraped makes two targets of one: A, whose metrics are read from a URL while it
// is under load, and B, the same server, whose are not. The ratio A/B is what is
// left of its speed.
func scraped(t *target, url string) []*target {
	with, without := *t, *t
	with.name, with.scrape = "A", url
	without.name = "B"
	return []*target{&with, &without}
}

// scraping reads the target's metrics every second until stop is called. A target
// without a URL is left alone.
func (t *target) scraping(ctx context.Context) (stop func()) {
	if t.scrape == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(scrapeEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := scrape(ctx, t.scrape); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "bench: scrape:", err)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
		http.DefaultClient.CloseIdleConnections()
	}
}

// scrape reads one page of metrics, as Prometheus does.
func scrape(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}
