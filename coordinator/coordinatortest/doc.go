// Package coordinatortest helps to test with coordinators, and to test them.
//
//   - [Fake] is a coordinator whose every answer is scripted, for the tests of
//     handlers.
//
//   - [Module] puts any coordinator into a gateway under test.
//
//   - [Conform] is the suite that every coordinator must pass:
//
//     func TestConform(t *testing.T) {
//     coordinatortest.Conform(t, func(_ *testing.T, cfg coordinator.Config) coordinator.Coordinator {
//     return memory.New(cfg)
//     })
//     }
package coordinatortest
