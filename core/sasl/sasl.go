package sasl

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/security"
	"github.com/iggykafka/gateway/internal/choice"
)

// Sasl begins the logins of connections. It is safe for concurrent use.
type Sasl struct {
	cfg        Config
	mechanisms []Mechanism // those that may be used, in the order of the configuration
	suspects   *security.Suspects
	limits     *limiter
	metrics    *metrics
	audit      security.Audit
}

// Option gives a Sasl something to work with.
type Option func(*Sasl)

// WithSuspects has the tokens of these looked at as those of addresses that guess.
func WithSuspects(those *security.Suspects) Option { return func(s *Sasl) { s.suspects = those } }

// New returns a Sasl over the mechanisms that there are, of which cfg.Mechanisms
// chooses. Names that no mechanism has, or two have, and mechanisms that miss
// something stop it; so does a cfg that is not valid. A nil audit records
// nothing, and a nil reg registers no metrics.
func New(cfg Config, all []Mechanism, audit security.Audit, reg prometheus.Registerer, opts ...Option) (*Sasl, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	chosen, err := choose(cfg.Mechanisms, all)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("metrics of logins: %w", err)
	}
	s := &Sasl{cfg: cfg, mechanisms: chosen, metrics: m, audit: audit}
	for _, opt := range opts {
		opt(s)
	}
	s.limits = newLimiter(cfg, s.suspects)
	return s, nil
}

// Conditional is what a Mechanism implements that cannot work as every gateway is
// configured.
type Conditional interface {
	// Ready reports what is missing, as "set sasl.oauthbearer.jwks". Without
	// anything missing it returns nil.
	Ready() error
}

func ready(m Mechanism) error {
	if c, ok := m.(Conditional); ok {
		return c.Ready()
	}
	return nil
}

// choose returns the mechanisms of the names; without names all that are ready.
func choose(names []string, all []Mechanism) ([]Mechanism, error) {
	byName := map[string]Mechanism{}
	var known []string
	for _, m := range all {
		if byName[m.Name()] != nil {
			return nil, fmt.Errorf("sasl.mechanisms: two mechanisms have the name %q", m.Name())
		}
		byName[m.Name()] = m
		known = append(known, m.Name())
	}
	slices.Sort(known) // the order of a value group is random
	if len(names) == 0 {
		names = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return ready(byName[name]) != nil })
	}
	var chosen []Mechanism
	var faults []error
	for _, name := range names {
		m := byName[name]
		if m == nil {
			faults = append(faults, fmt.Errorf("sasl.mechanisms: %w", choice.NoneOf(name, known)))
			continue
		}
		if err := ready(m); err != nil {
			faults = append(faults, fmt.Errorf("sasl.mechanisms: %s: %w", name, err))
		}
		chosen = append(chosen, m)
	}
	return chosen, errors.Join(faults...)
}

// Offered returns the mechanisms of a listener that lists these, in the order of the
// configuration; none stands for all that are configured.
func (s *Sasl) Offered(mechanisms []string) []string { return namesOf(s.offered(mechanisms)) }

func (s *Sasl) offered(mechanisms []string) []Mechanism {
	if len(mechanisms) == 0 {
		return s.mechanisms
	}
	return slices.DeleteFunc(slices.Clone(s.mechanisms), func(m Mechanism) bool {
		return !slices.Contains(mechanisms, m.Name())
	})
}

// MaxToken is the longest token of a client, in bytes.
func (s *Sasl) MaxToken() int { return s.cfg.MaxTokenSize }

// Check says what is wrong with the mechanisms of a listener: one that is not
// configured, or, where none is listed, that none is. Nil when they will do.
func (s *Sasl) Check(mechanisms []string) error {
	known := namesOf(s.mechanisms)
	if len(known) == 0 {
		return errors.New("this gateway has no mechanism to log in; see the section sasl")
	}
	for _, name := range mechanisms {
		if !slices.Contains(known, name) {
			return choice.NoneOf(name, known)
		}
	}
	return nil
}

// Session begins the login of a connection to a listener that offers the
// mechanisms; none stands for all that are configured. who is the client as its
// connection tells.
func (s *Sasl) Session(who security.Requester, mechanisms []string) dispatch.Session {
	return &session{sasl: s, who: who, offered: s.offered(mechanisms)}
}

func namesOf(mechanisms []Mechanism) []string {
	names := make([]string, len(mechanisms))
	for i, m := range mechanisms {
		names[i] = m.Name()
	}
	return names
}
