{{/* What all pods of Fettle have in common. Each takes (dict "root" $ "component" "controller" "settings" .Values.controller). */}}

{{- define "fettle.selectorLabels" -}}
app.kubernetes.io/name: fettle
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "fettle.labels" -}}
{{ include "fettle.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "fettle.image" -}}
{{- with .root.Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.root.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "fettle.unprivileged" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "fettle.podDefaults" -}}
serviceAccountName: fettle-{{ .component }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: kubernetes.io/os
              operator: In
              values: [linux]
            # Simulated nodes would say that they run the pod, and run nothing.
            - key: fettle.dev/simulated
              operator: DoesNotExist
{{- end }}

{{- define "fettle.containerImage" -}}
image: {{ include "fettle.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- end }}

{{- define "fettle.containerDefaults" -}}
{{ include "fettle.containerImage" . }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
  readOnlyRootFilesystem: true
{{- end }}

{{- define "fettle.podName" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}

{{- define "fettle.apiServer" -}}
- name: KUBERNETES_SERVICE_HOST
  value: {{ .root.Values.apiServer.host | quote }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ .root.Values.apiServer.port | quote }}
{{- end }}

{{- define "fettle.probes" -}}
livenessProbe:
  httpGet: { path: /healthz, port: http }
  initialDelaySeconds: 5
  periodSeconds: 10
  timeoutSeconds: 3
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 5
  timeoutSeconds: 3
{{- end }}
