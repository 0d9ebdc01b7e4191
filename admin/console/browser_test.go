package console_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/admin/console"
	"github.com/iggykafka/gateway/clienttest"
)

// patience bounds what the browser does in one test.
const patience = 5 * time.Minute

// browsers are the programs that can be driven, the best first.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// findBrowser returns a browser, which it installs with apt-get where the machine
// has none and the test may.
func findBrowser(t *testing.T) string {
	var found string
	look := func() bool {
		for _, name := range browsers {
			if file, err := exec.LookPath(name); err == nil {
				found = file
				return true
			}
		}
		return false
	}
	clienttest.Locked(t, "chromium", func() {
		if look() {
			return
		}
		if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
			clienttest.Missing(t, "Chromium, and no apt-get with root's rights to install it")
		}
		clienttest.Command(t, ".", "apt-get", "update", "-qq")
		clienttest.Command(t, ".", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "--yes", "--no-install-recommends", browsers[0])
		require.True(t, look(), "the package has no %s", browsers[0])
	})
	return found
}

// browser is a running browser, one for each test.
type browser struct {
	ctx context.Context

	mu     sync.Mutex
	faults []string // what the console of the page and the network had to say
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findBrowser(t)), chromedp.NoSandbox,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("disable-gpu", true))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &browser{ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	return b
}

// hear remembers what went wrong in a page.
func (b *browser) hear(event any) {
	fault := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			fault = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventConsoleAPICalled:
		fault = "console." + e.Type.String()
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Text
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			fault = e.Response.URL + ": " + e.Response.StatusText
		}
	}
	if fault != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fault)
	}
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(b.ctx, actions...))
}

// open shows a page in a window of the given width.
func (b *browser) open(t *testing.T, url string, width int64) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url), chromedp.WaitReady(chromedp.ID("main")))
}

// quiet demands that no page had anything to complain of so far.
func (b *browser) quiet(t *testing.T, where string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.faults, where)
}

// eval runs JavaScript in the page.
func eval[T any](t *testing.T, b *browser, script string) T {
	t.Helper()
	result, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(t, err, script)
	return result
}

// prefer makes the browser's user prefer light or dark colours.
func (b *browser) prefer(t *testing.T, scheme string) {
	t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
}

func serveDemo(t *testing.T) string {
	pages, err := console.New(demoSources(t))
	require.NoError(t, err)
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	return server.URL
}

// axe returns the source of the accessibility checker.
func axe(t *testing.T) string {
	clienttest.NeedCommand(t, "npm")
	dir := clienttest.Install(t, "axe", []string{"testdata/package.json", "testdata/package-lock.json"}, func(dir string) {
		clienttest.Command(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	})
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	return string(source)
}

// Every page loads without a word in the console, has its landmarks, headings in
// order and named tables, and does not scroll sideways on a telephone.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b, url := openBrowser(t), serveDemo(t)
	for _, p := range demoPages {
		for _, width := range []int64{1280, 400} {
			b.open(t, url+p.path, width)
			b.quiet(t, p.name)
			require.Equal(t, p.heading, eval[string](t, b, `document.querySelector("h1").innerText`))
			require.Equal(t, 1, eval[int](t, b, `document.querySelectorAll("h1").length`))
			require.True(t, eval[bool](t, b, `["header", "nav", "main", "footer"].every(e => document.querySelector(e))`), p.name)
			require.Empty(t, eval[string](t, b, `[...document.querySelectorAll("table")].filter(e => !e.caption).map(e => e.outerHTML).join()`))
			require.Empty(t, eval[string](t, b, `[...document.querySelectorAll("th")].filter(e => !e.scope).map(e => e.outerHTML).join()`))
			require.LessOrEqual(t, eval[int64](t, b, `document.documentElement.scrollWidth`), width, "%s scrolls sideways", p.name)
		}
	}
}

// Axe finds nothing to object to, in light and dark.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	b, url, checker := openBrowser(t), serveDemo(t), axe(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, p := range demoPages {
			b.prefer(t, scheme)
			b.open(t, url+p.path, 1280)
			eval[int](t, b, checker+";0")
			found := eval[string](t, b, `axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + "\n" +
				v.nodes.map(n => n.html + " " + n.failureSummary).join("\n")).join("\n\n"))`)
			require.Empty(t, found, "%s, %s", p.name, scheme)
		}
	}
}

// The tab key reaches every link, button, field and scrolling region, and shows
// where it is.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	b, url := openBrowser(t), serveDemo(t)
	const wanted = `[...document.querySelectorAll("a[href], button, input, select, [tabindex='0']")].filter(e => e.checkVisibility()).length`
	for _, p := range demoPages {
		b.open(t, url+p.path, 1280)
		n := eval[int](t, b, wanted)
		eval[int](t, b, `window.reached = new Set(); document.addEventListener("focusin", e => {
			if (getComputedStyle(e.target).outlineStyle !== "none") reached.add(e.target) }); 0`)
		for range n {
			b.do(t, chromedp.KeyEvent("\t"))
		}
		require.Equal(t, n, eval[int](t, b, `reached.size`), p.name)
	}
	b.open(t, url+"/console/", 1280)
	b.do(t, chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	require.Equal(t, "main", eval[string](t, b, `document.activeElement.id`), "the skip link leads to the content")
}

func TestTheLivePageRenewsItself(t *testing.T) {
	t.Parallel()
	b, url := openBrowser(t), serveDemo(t)
	b.open(t, url+"/console/live", 1280)
	require.Eventually(t, func() bool { return eval[string](t, b, `document.getElementById("live").dataset.renewed || ""`) == "1" },
		time.Minute, 200*time.Millisecond)
	require.Greater(t, eval[int](t, b, `document.querySelectorAll("#live tbody tr").length`), 5)
	b.do(t, chromedp.Click(chromedp.ID("pause")))
	require.Equal(t, "Paused", eval[string](t, b, `document.getElementById("status").textContent`))
	require.Equal(t, "true", eval[string](t, b, `document.getElementById("pause").getAttribute("aria-pressed")`))
	b.quiet(t, "live")
}

func TestTheColoursAreRemembered(t *testing.T) {
	t.Parallel()
	b, url := openBrowser(t), serveDemo(t)
	ground := `getComputedStyle(document.body).backgroundColor`
	b.prefer(t, "light")
	b.open(t, url+"/console/", 1280)
	light := eval[string](t, b, ground)
	b.do(t, chromedp.Focus(chromedp.ID("theme")), chromedp.KeyEvent("d")) // as the keyboard chooses Dark
	require.NotEqual(t, light, eval[string](t, b, ground))
	b.open(t, url+"/console/topics", 1280)
	require.NotEqual(t, light, eval[string](t, b, ground))
	require.Equal(t, "dark", eval[string](t, b, `document.getElementById("theme").value`))
}

// Names that are markup stay names.
func TestHostileNamesInABrowser(t *testing.T) {
	t.Parallel()
	pages, err := console.New(hostileSources(t))
	require.NoError(t, err)
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	b := openBrowser(t)
	for _, path := range append([]string{"/console/groups"}, hostileLinks()...) {
		b.open(t, server.URL+path, 400)
		require.False(t, eval[bool](t, b, `"owned" in window`), path)
		require.Equal(t, 2, eval[int](t, b, `document.scripts.length`), path)
		require.LessOrEqual(t, eval[int64](t, b, `document.documentElement.scrollWidth`), int64(400), path)
		b.quiet(t, path)
	}
}

// pictures is where the documentation has the pages; written when
// KAFKA_GATEWAY_UPDATE_SCREENSHOTS is set.
const pictures = "../../docs/console"

// Pictures of the documentation are small, and there is one of each page.
func TestPictures(t *testing.T) {
	t.Parallel()
	if os.Getenv("KAFKA_GATEWAY_UPDATE_SCREENSHOTS") != "" {
		takePictures(t)
	}
	text, err := os.ReadFile(pictures + ".md")
	require.NoError(t, err)
	for _, p := range demoPages {
		for _, width := range []string{"1280", "400"} {
			name := p.name + "-" + width + ".png"
			file, err := os.Stat(filepath.Join(pictures, name))
			require.NoError(t, err)
			require.LessOrEqual(t, file.Size(), int64(150<<10), name)
			require.True(t, strings.Contains(string(text), "console/"+name), "docs/console.md shows no %s", name)
		}
	}
}

func takePictures(t *testing.T) {
	b, url := openBrowser(t), serveDemo(t)
	for _, p := range demoPages {
		for width, name := range map[int64]string{1280: "1280", 400: "400"} {
			b.prefer(t, "light")
			b.open(t, url+p.path, width)
			height := min(max(eval[int64](t, b, `document.body.scrollHeight`), 500), 1400)
			b.do(t, chromedp.EmulateViewport(width, height))
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(pictures, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(pictures, p.name+"-"+name+".png"), shrink(t, picture), 0o644))
		}
	}
}

// shrink stores a picture with 256 colours, those that it has most of.
func shrink(t *testing.T, picture []byte) []byte {
	full, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	area := full.Bounds()
	uses := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			uses[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(uses[b], uses[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	// One of each shade first, so that what is rare and red stays red.
	shades := map[[3]uint8]bool{}
	var palette, rest color.Palette
	for _, c := range colours {
		if shade := [3]uint8{c.R >> 5, c.G >> 5, c.B >> 5}; !shades[shade] {
			shades[shade] = true
			palette = append(palette, c)
		} else {
			rest = append(rest, c)
		}
	}
	palette = append(palette, rest...)
	palette = palette[:min(len(palette), 256)]
	nearest := map[color.RGBA]uint8{}
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(area, palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small))
	return out.Bytes()
}
