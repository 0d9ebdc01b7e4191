package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// pager is one page of a list.
type pager struct {
	What          string // what is listed, for the label of the links
	From, To, All int    // rows From+1 to To of All
	Number, Last  int    // from 1 on
	Previous      string // addresses; "" at the ends
	Next          string
	First, End    string
}

// paged cuts a list of n rows by the number in a query parameter. Numbers that are
// none, or beyond the list, are taken for the nearest page. Links keep all other
// parameters.
func paged(r *http.Request, what, parameter string, n, size int) pager {
	p := pager{What: what, All: n, Last: max((n+size-1)/size, 1)}
	number, err := strconv.Atoi(r.URL.Query().Get(parameter))
	if err != nil {
		number = 1
	}
	p.Number = min(max(number, 1), p.Last)
	p.From = (p.Number - 1) * size
	p.To = min(p.From+size, n)
	to := func(number int) string {
		query := url.Values{}
		for name, values := range r.URL.Query() {
			query[name] = values
		}
		query.Set(parameter, strconv.Itoa(number))
		return r.URL.Path + "?" + query.Encode()
	}
	if p.Number > 1 {
		p.Previous, p.First = to(p.Number-1), to(1)
	}
	if p.Number < p.Last {
		p.Next, p.End = to(p.Number+1), to(p.Last)
	}
	return p
}

// Words says what part is shown: "51–100 of 1,000 topics".
func (p pager) Words() string {
	if p.Last == 1 {
		return ""
	}
	return fmt.Sprintf("%d–%d of %s", p.From+1, p.To, plural(p.All, p.What, p.What))
}
