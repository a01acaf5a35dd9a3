//go:build tools

// Package tools names the command that this module builds.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
