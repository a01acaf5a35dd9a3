// CoreDNS with the few plugins that the test cluster's zones need.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"
)

func init() {
	// The order in which plugins see a query. None caches: answers come from the API's watch and are never stale.
	dnsserver.Directives = []string{"bind", "errors", "template", "kubernetes"}
}

func main() {
	coremain.Run()
}
