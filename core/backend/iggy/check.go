package iggy

import "context"

func (s *Store) check(context.Context) {}
