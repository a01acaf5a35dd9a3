{{- define "understudy.name" -}}
{{- if contains "understudy" .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-understudy" .Release.Name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end }}

{{- define "understudy.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "understudy.name" .) -}}
{{- end }}

{{- define "understudy.selector" -}}
app.kubernetes.io/name: understudy-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "understudy.labels" -}}
{{ include "understudy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "understudy.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}

{{/* Of the operator's pod. */}}
{{- define "understudy.annotations" -}}
{{- with .Values.operator.podAnnotations }}{{ toYaml . }}{{ end }}
{{- if (.Values.metrics).annotations }}
prometheus.io/scrape: "true"
prometheus.io/port: "8081"
prometheus.io/path: /metrics
{{- end }}
{{- end }}

{{/* What the operator needs to know to make the pods of jobs. */}}
{{- define "understudy.pods" -}}
{{- $pods := dict "image" (include "understudy.image" .) "imagePullPolicy" .Values.image.pullPolicy -}}
{{- $_ := set $pods "imagePullSecrets" .Values.image.pullSecrets -}}
{{- $_ := set $pods "cpuPerCoreMilli" .Values.jobs.cpuPerCoreMilli -}}
{{- $_ := set $pods "memoryOverheadMi" .Values.jobs.memoryOverheadMi -}}
{{- $_ := set $pods "nodeSelector" .Values.jobs.nodeSelector -}}
{{- $_ := set $pods "tolerations" .Values.jobs.tolerations -}}
{{- $_ := set $pods "allow" .Values.jobs.allow -}}
{{- $_ := set $pods "disruptionBudgets" .Values.jobs.disruptionBudgets -}}
{{- $_ := set $pods "networkPolicies" .Values.networkPolicies -}}
{{- $_ := set $pods "operator" (dict "namespace" .Release.Namespace "labels" (include "understudy.selector" . | fromYaml)) -}}
{{- $_ := set $pods "scrapeAnnotations" ((.Values.metrics).annotations | default false) -}}
{{- $_ := set $pods "placement" .Values.jobs.placement -}}
{{- $_ := set $pods "mutualTLS" .Values.jobs.mutualTLS -}}
{{- $_ := set $pods "certificateLifetime" .Values.jobs.certificateLifetime -}}
{{- $pods | toJson -}}
{{- end }}

{{/*
The operator's rights in a namespace. It may hand out only what it has, so the rights of a job's account
(its Leases, its record, pods for executors) are among them.
*/}}
{{- define "understudy.rules" -}}
- apiGroups: [understudy.dev]
  resources: [streamjobs, failoverdrills, migrations]
  verbs: [get, list, watch]
- apiGroups: [understudy.dev]
  resources: [streamjobs]
  verbs: [patch]
- apiGroups: [understudy.dev]
  resources: [streamjobs/status, incidents/status, failoverdrills/status, migrations/status]
  verbs: [patch]
- apiGroups: [understudy.dev]
  resources: [incidents]
  verbs: [list, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete, deletecollection]
- apiGroups: [""]
  resources: [services]
  verbs: [list, create, patch, delete]
{{- if .Values.jobs.allow.jobTemplates }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, create]
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch, delete]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [list, create, patch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [list, create, patch]
{{- if .Values.jobs.mutualTLS }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, delete]
{{- end }}
{{- if .Values.jobs.disruptionBudgets }}
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, create, patch, delete]
{{- end }}
{{- if .Values.networkPolicies }}
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list, create, patch]
{{- end }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
