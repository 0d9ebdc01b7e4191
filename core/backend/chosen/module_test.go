package chosen_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/chosen"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/backend/iggy"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/topicconfig"
)

func TestMain(m *testing.M) { iggytest.Main(m) }

// module is the graph with a choice, a folder for the embedded store and an
// Iggy server for the other.
func module(choice chosen.Choice, folder, address string, got *backend.Backend) fx.Option {
	files, stream := embedded.DefaultConfig(), iggy.DefaultConfig()
	files.Dir, stream.Address, stream.Password = folder, address, iggytest.Password
	return fx.Options(
		fx.NopLogger, chosen.Module, fx.Supply(choice, files, stream, zap.NewNop()),
		fx.Provide(func() (*topicconfig.Catalog, error) { return topicconfig.NewCatalog(nil) }),
		fx.Populate(got),
	)
}

// Only the chosen backend is made, starts and stops: the others' places are left
// alone, and need not be there.
func TestOnlyTheChosen(t *testing.T) {
	t.Parallel()
	server := iggytest.StandIn(t).Address()
	const nobody = "127.0.0.1:1"
	for _, c := range []struct {
		choice  chosen.Choice
		address string
		files   bool
		want    backend.Backend
	}{
		{chosen.Embedded, nobody, true, &embedded.Store{}},
		{chosen.Memory, nobody, false, &embedded.Store{}},
		{chosen.Iggy, server, false, &iggy.Store{}},
	} {
		t.Run(string(c.choice), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir() + "/data"
			var got backend.Backend
			app := fxtest.New(t, module(c.choice, folder, c.address, &got))
			require.IsType(t, c.want, got)
			app.RequireStart()
			_, err := got.CreateTopic(t.Context(), backend.NewTopic{Name: "orders", Partitions: 1})
			require.NoError(t, err)
			app.RequireStop()
			if c.files {
				require.DirExists(t, folder)
			} else {
				require.NoDirExists(t, folder)
			}
		})
	}
}

func TestNoSuchChoice(t *testing.T) {
	t.Parallel()
	var got backend.Backend
	err := fx.New(module("tape", "", "", &got)).Err()
	require.ErrorContains(t, err, `storage.backend: "tape" is none of embedded, memory, iggy`)
}
