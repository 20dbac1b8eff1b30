{{- define "snowgrid.selector" -}}
app.kubernetes.io/name: snowgrid
app.kubernetes.io/instance: {{ .Release.Name }}
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
