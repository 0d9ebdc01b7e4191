// Package coordinatortest helps to test with coordinators, and to test them.
//
//   - [Fake] is a coordinator whose every answer is scripted, for the tests of
//     handlers.
//   - [Module] puts any coordinator into a gateway under test.
package coordinatortest
