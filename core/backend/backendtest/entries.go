package backendtest

import (
	"bytes"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
)

// stored returns the entries of a kind as text.
func (h *harness) stored(kind string) map[string]string {
	found, err := h.Backend.Entries(h.Context(), kind)
	require.NoError(h, err)
	texts := map[string]string{}
	for name, value := range found {
		texts[name] = string(value)
	}
	return texts
}

func (h *harness) change(kind string, changes map[string][]byte) {
	require.NoError(h, h.Backend.ChangeEntries(h.Context(), kind, changes))
}

// entries: kinds are apart, also where the name of one begins the name of another;
// names are any bytes; nil deletes, and an empty value is a value.
func entries(h *harness) {
	require.Empty(h, h.stored("acl"))
	h.change("acl", map[string][]byte{"a": []byte("1"), "b": []byte("2"), "\x00\xff": {}})
	h.change("acls", map[string][]byte{"a": []byte("other")})
	want := map[string]string{"a": "1", "b": "2", "\x00\xff": ""}
	require.Equal(h, want, h.stored("acl"))
	h.change("acl", map[string][]byte{"a": nil, "c": []byte("3"), "nobody": nil})
	delete(want, "a")
	want["c"] = "3"
	require.Equal(h, want, h.stored("acl"))
	require.Equal(h, map[string]string{"a": "other"}, h.stored("acls"))
	require.Empty(h, h.stored("ac"))

	// What is handed in and out belongs to the caller.
	value := []byte("mine")
	h.change("acl", map[string][]byte{"d": value})
	copy(value, "else")
	found, err := h.Backend.Entries(h.Context(), "acl")
	require.NoError(h, err)
	copy(found["d"], "ours")
	want["d"] = "mine"
	require.Equal(h, want, h.stored("acl"))

	h.change("acl", nil)
	err = h.Backend.ChangeEntries(h.Context(), "acl", map[string][]byte{"b": []byte("x"), "big": make([]byte, backend.MaxEntries)})
	require.ErrorIs(h, err, backend.ErrTooLarge)
	require.Equal(h, want, h.stored("acl"))
}

// manyEntries: one change may hold as much as the limit allows.
func manyEntries(h *harness) {
	const n = 1000
	changes, want := map[string][]byte{}, map[string]string{}
	for i := range n {
		name := fmt.Sprintf("%04d", i)
		value := bytes.Repeat([]byte{byte(i)}, backend.MaxEntries/n-len(name))
		changes[name], want[name] = value, string(value)
	}
	h.change("k", changes)
	require.Equal(h, want, h.stored("k"))
}

// entriesOutlive: after a restart or a crash there is what was acknowledged.
func entriesOutlive(h *harness) {
	want := map[string]string{}
	ended := false
	for i, again := range []func() backend.Backend{h.Reopen, h.Crash, h.Crash, h.Reopen} {
		if again == nil {
			continue
		}
		ended = true
		stays := fmt.Sprint("stays ", i)
		h.change("k", map[string][]byte{stays: []byte("here"), "goes": []byte("x")})
		h.change("k", map[string][]byte{"goes": nil})
		want[stays] = "here"
		h.Backend = again()
		require.Equal(h, want, h.stored("k"))
	}
	if !ended {
		h.Skip("this backend can neither be reopened nor crashed")
	}
}
