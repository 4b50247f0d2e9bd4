{{- define "queen-ts.name" -}}
{{- if contains "queen-ts" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-queen-ts" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "queen-ts.selector" -}}
app.kubernetes.io/name: queen-ts
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "queen-ts.labels" -}}
{{ include "queen-ts.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "queen-ts.secret" -}}
{{- .Values.raft.existingSecret | default (include "queen-ts.name" .) -}}
{{- end }}

{{- /* id=raft/http of every member, as pods of the headless service are called. */ -}}
{{- define "queen-ts.peers" -}}
{{- $name := include "queen-ts.name" . -}}
{{- range $i := until (int .Values.replicas) -}}
{{- $host := printf "%s-%d.%s-members" $name $i $name -}}
{{- if $i }},{{ end }}{{ add1 $i }}={{ $host }}:{{ $.Values.raft.port }}/{{ $host }}:6632
{{- end -}}
{{- end }}
