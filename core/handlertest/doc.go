// Package handlertest holds what every handler package tests itself with:
//
//	func TestConform(t *testing.T)   { handlertest.Conform(t, h) }
//	func TestReadme(t *testing.T)    { handlertest.Readme(t, h, "README.md") }
//	func TestScenarios(t *testing.T) { handlertest.Scenarios(t, "testdata", open) }
//	func Fuzz(f *testing.F)          { handlertest.Fuzz(f, h) }
//
// Conform proves a handler's Spec, and above all its shape, against the codec:
// every request of every version is filled by reflection, encoded, and walked.
// Scenarios runs golden files of requests and responses.
package handlertest
