{{/* The name of everything of the release. */}}
{{- define "optassign.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels that a selector has; they never change. Takes the name of the component and the root. */}}
{{- define "optassign.selector" -}}
app.kubernetes.io/name: {{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "optassign.labels" -}}
{{ include "optassign.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Where a pod may run. */}}
{{- define "optassign.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An image by its digest, or by its tag without one. Takes the values of the image and the tag by default. */}}
{{- define "optassign.image" -}}
{{- if .image.digest }}{{ printf "%s@%s" .image.repository .image.digest }}{{ else }}{{ printf "%s:%s" .image.repository (.image.tag | default .version) }}{{ end }}
{{- end }}

{{/* What the service needs: half a GiB for each worker mostly, and a GiB for each and one more at most. */}}
{{- define "optassign.resources" -}}
{{- if .resources }}{{ toYaml .resources }}{{ else -}}
{{- $workers := int .workers -}}
requests:
  cpu: "1"
  memory: {{ if mod $workers 2 }}{{ mul 512 $workers }}Mi{{ else }}{{ div $workers 2 }}Gi{{ end }}
limits:
  memory: {{ add 1 $workers }}Gi
{{- end }}
{{- end }}
