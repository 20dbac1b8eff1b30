{{- define "snowgrid.selector" -}}
app.kubernetes.io/name: snowgrid
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The chart is not rendered without credentials, unless the values say so. */ -}}
{{- define "snowgrid.secured" -}}
{{- if and .Values.security.insecure (or .Values.security.secretName .Values.security.certificateSecretName) }}
{{- fail "security.insecure is true and a secret is named; set one or the other" }}
{{- else if not (or .Values.security.insecure .Values.security.secretName) }}
{{- fail "security.secretName is empty: run snowgrid secure init --out security; snowgrid secure issue --dir security --role member --for snowgrid --out member; kubectl create secret generic snowgrid-member --from-file=member; and set security.secretName=snowgrid-member (or security.insecure=true for a grid that any process in the network may change)" }}
{{- else if not .Values.security.insecure }}true{{ end }}
{{- end }}

{{- define "snowgrid.labels" -}}
{{ include "snowgrid.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "snowgrid.name" -}}
{{- if contains "snowgrid" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-snowgrid" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}
