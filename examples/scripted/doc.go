// Package scripted is a test that plays the group coordinator itself: what a
// real client does when its coordinator answers as the script says.
package scripted
