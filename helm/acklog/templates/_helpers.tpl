{{- define "acklog.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* Shortened so that "-gateways" and the like still fit into 63 characters. */ -}}
{{- define "acklog.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := include "acklog.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Call with (dict "root" $ "component" "node"). */ -}}
{{- define "acklog.selectorLabels" -}}
app.kubernetes.io/name: {{ include "acklog.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "acklog.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "acklog.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* No version among them: a new chart that changes nothing of the pods restarts none. */ -}}
{{- define "acklog.podLabels" -}}
{{ include "acklog.selectorLabels" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "acklog.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "acklog.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* Call with (dict "root" $ "image" $image). */ -}}
{{- define "acklog.image" -}}
{{- $tag := default .root.Chart.AppVersion .image.tag }}
{{- if .image.digest }}
{{- printf "%s@%s" .image.repository .image.digest }}
{{- else }}
{{- printf "%s:%s" .image.repository $tag }}
{{- end }}
{{- end }}

{{- define "acklog.etcdName" -}}
{{- printf "%s-etcd" (include "acklog.fullname" .) }}
{{- end }}

{{- define "acklog.nodesName" -}}
{{- printf "%s-node" (include "acklog.fullname" .) }}
{{- end }}

{{- define "acklog.etcdEndpoints" -}}
{{- if .Values.etcd.endpoints }}
{{- join "," .Values.etcd.endpoints }}
{{- else }}
{{- $name := include "acklog.etcdName" . }}
{{- $members := list }}
{{- range $ordinal := until (int .Values.etcd.bundled.replicas) }}
{{- $members = append $members (printf "http://%s-%d.%s.%s.svc.%s:2379" $name $ordinal $name $.Release.Namespace $.Values.clusterDomain) }}
{{- end }}
{{- join "," $members }}
{{- end }}
{{- end }}

{{- define "acklog.anyAddress" -}}
{{- ternary "[::]" "0.0.0.0" (eq .Values.ipFamily "IPv6") }}
{{- end }}

{{- /* "yes", or nothing: whether there are certificates. */ -}}
{{- define "acklog.hasTls" -}}
{{- if or .Values.tls.existingSecret .Values.tls.secretPrefix }}yes{{ end }}
{{- end }}

{{- /* What whoever speaks HTTP is called by: the gateways, the embedded server, and the nodes. */ -}}
{{- define "acklog.scheme" -}}
{{- ternary "https" "http" (eq (include "acklog.hasTls" .) "yes") }}
{{- end }}

{{- /* Of a port of a Service. Not while http is taken as well: who heeds it speaks what it says and nothing else. */ -}}
{{- define "acklog.appProtocol" -}}
{{- if and (include "acklog.hasTls" .) (not .Values.tls.acceptClear) -}}
appProtocol: https
{{- end }}
{{- end }}

{{- /* The settings of TLS of any process of Acklog. */ -}}
{{- define "acklog.tlsOptions" -}}
{{- if include "acklog.hasTls" . }}
ACKLOG_PKI: /etc/acklog/pki
ACKLOG_TLS_ACCEPT_CLEAR: {{ .Values.tls.acceptClear | quote }}
{{- end }}
{{- end }}

{{- define "acklog.tlsMounts" -}}
{{- if include "acklog.hasTls" . }}
- {name: pki, mountPath: /etc/acklog/pki, readOnly: true}
{{- end }}
{{- end }}

{{- /* Where a client's ca.pem is: (dict "name" "secret" "key" "ca.pem"), as YAML. */ -}}
{{- define "acklog.authority" -}}
{{- $ofServer := printf "%s-%s" .Values.tls.secretPrefix (ternary "gateway" "server" (eq .Values.mode "cluster")) }}
{{- with .Values.tls.existingSecret -}}
{name: {{ . }}, key: ca.pem}
{{- else -}}
{name: {{ $ofServer }}, key: ca.crt}
{{- end }}
{{- end }}

{{- /* What a client needs of it, and no key. */ -}}
{{- define "acklog.authorityVolumes" -}}
{{- if include "acklog.hasTls" . }}
{{- $authority := fromYaml (include "acklog.authority" .) }}
- name: pki
  secret:
    secretName: {{ $authority.name }}
    defaultMode: 0440
    items:
      - {key: {{ $authority.key }}, path: ca.pem}
{{- end }}
{{- end }}

{{- /* ca.pem, and certificate and key of a gateway or a server. Call with (dict "root" $ "process" "gateway"). */ -}}
{{- define "acklog.serverTlsVolumes" -}}
{{- $process := .process }}
{{- with .root.Values.tls }}
{{- if .existingSecret }}
- name: pki
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - {key: ca.pem, path: ca.pem}
      - {key: {{ $process }}.pem, path: {{ $process }}.pem}
      - {key: {{ $process }}-key.pem, path: {{ $process }}-key.pem}
{{- else if .secretPrefix }}
- name: pki
  secret:
    secretName: {{ .secretPrefix }}-{{ $process }}
    defaultMode: 0440
    items:
      - {key: ca.crt, path: ca.pem}
      - {key: tls.crt, path: {{ $process }}.pem}
      - {key: tls.key, path: {{ $process }}-key.pem}
{{- end }}
{{- end }}
{{- end }}

{{- /* Of all nodes, as their pods are made alike: each takes its own. */ -}}
{{- define "acklog.nodesTlsVolumes" -}}
{{- $nodes := int .Values.nodes.replicas }}
{{- with .Values.tls }}
{{- if .existingSecret }}
- name: pki
  secret: {secretName: {{ .existingSecret }}, defaultMode: 0440}
{{- else if .secretPrefix }}
{{- $prefix := .secretPrefix }}
- name: pki
  projected:
    defaultMode: 0440
    sources:
      # Up to the next ten, as far as they are there, so that more nodes do not change the pods of those that there are.
      {{- range $number := untilStep 1 (int (add1 (mul 10 (div (add $nodes 9) 10)))) 1 }}
      - secret:
          name: {{ $prefix }}-node-{{ $number }}
          optional: {{ gt $number 1 }}
          items:
            {{- if eq $number 1 }}
            - {key: ca.crt, path: ca.pem}
            {{- end }}
            - {key: tls.crt, path: node-{{ $number }}.pem}
            - {key: tls.key, path: node-{{ $number }}-key.pem}
      {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "acklog.tokensSecret" -}}
{{- if .Values.auth.tokensFile }}
{{- printf "%s-tokens" (include "acklog.fullname" .) }}
{{- else }}
{{- .Values.auth.existingSecret }}
{{- end }}
{{- end }}

{{- define "acklog.tokensKey" -}}
{{- ternary "tokens.toml" .Values.auth.existingSecretKey (ne .Values.auth.tokensFile "") }}
{{- end }}

{{- /* Variables of the environment as a list: those of the chart, and the user's, which win. Call with
(dict "own" $dict "given" $dict). */ -}}
{{- define "acklog.environment" -}}
{{- $all := merge (dict) .given .own }}
{{- range $name := keys $all | sortAlpha }}
{{- $value := get $all $name }}
{{- if kindIs "float64" $value }}{{ if eq (floor $value) $value }}{{ $value = int64 $value }}{{ end }}{{ end }}
- name: {{ $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}

{{- define "acklog.downwardEnvironment" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end }}

{{- /* Call with (dict "from" "zone"). */ -}}
{{- define "acklog.rackEnvironment" -}}
{{- if eq .from "zone" }}
- name: ACKLOG_RACK
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['topology.kubernetes.io/zone']"}}
{{- else if eq .from "host" }}
- name: ACKLOG_RACK
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
{{- end }}
{{- end }}

{{- define "acklog.etcdOptions" -}}
{{- $options := dict "ACKLOG_ETCD" (include "acklog.etcdEndpoints" .) }}
{{- with .Values.etcd }}
{{- if .user }}
{{- $_ := set $options "ACKLOG_ETCD_USER" .user }}
{{- $_ := set $options "ACKLOG_ETCD_PASSWORD_FILE" (printf "/etc/acklog/etcd-password/%s" .passwordSecretKey) }}
{{- end }}
{{- with .tls }}
{{- if .existingSecret }}
{{- $_ := set $options "ACKLOG_ETCD_CA_FILE" (printf "/etc/acklog/etcd-tls/%s" .caKey) }}
{{- if .clientCertificate }}
{{- $_ := set $options "ACKLOG_ETCD_CERTIFICATE_FILE" (printf "/etc/acklog/etcd-tls/%s" .certificateKey) }}
{{- $_ := set $options "ACKLOG_ETCD_KEY_FILE" (printf "/etc/acklog/etcd-tls/%s" .privateKeyKey) }}
{{- end }}
{{- if .serverName }}
{{- $_ := set $options "ACKLOG_ETCD_SERVER_NAME" .serverName }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $options }}
{{- end }}

{{- define "acklog.etcdMounts" -}}
{{- with .Values.etcd }}
{{- if .user }}
- {name: etcd-password, mountPath: /etc/acklog/etcd-password, readOnly: true}
{{- end }}
{{- if .tls.existingSecret }}
- {name: etcd-tls, mountPath: /etc/acklog/etcd-tls, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "acklog.etcdVolumes" -}}
{{- with .Values.etcd }}
{{- if .user }}
- name: etcd-password
  secret: {secretName: {{ .passwordSecret }}, defaultMode: 0440}
{{- end }}
{{- if .tls.existingSecret }}
- name: etcd-tls
  secret: {secretName: {{ .tls.existingSecret }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- end }}

{{- /* What all pods have in common. Call with (dict "root" $ "pod" $values "user" 10001). */ -}}
{{- define "acklog.podBasics" -}}
serviceAccountName: {{ include "acklog.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .pod.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "acklog.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Call with (dict "root" $ "component" "node" "pod" $values). */ -}}
{{- define "acklog.placement" -}}
{{- if .pod.affinity }}
affinity: {{- toYaml .pod.affinity | nindent 2 }}
{{- else if eq .pod.spread.hosts "required" }}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "acklog.selectorLabels" . | nindent 12 }}
{{- else if eq .pod.spread.hosts "preferred" }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "acklog.selectorLabels" . | nindent 14 }}
{{- end }}
{{- if ne .pod.spread.zones "none" }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: {{ .pod.spread.zones }}
    labelSelector:
      matchLabels: {{- include "acklog.selectorLabels" . | nindent 8 }}
{{- end }}
{{- end }}

{{- /* Whom a probe or a hook asks. The kubelet believes any certificate. Call with (dict "root" $ "path" "/readyz"). */ -}}
{{- define "acklog.httpGet" -}}
httpGet: {path: {{ .path | quote }}, port: http{{ if include "acklog.hasTls" .root }}, scheme: HTTPS{{ end }}}
{{- end }}

{{- /* Alive as long as the event loop answers, whatever the rest of the cluster does. Call with (dict "root" $
"minutes" 60). */ -}}
{{- define "acklog.lifeProbes" -}}
startupProbe:
  {{- include "acklog.httpGet" (dict "root" .root "path" "/healthz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: {{ mul .minutes 12 }}
livenessProbe:
  {{- include "acklog.httpGet" (dict "root" .root "path" "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{- /* What schema and templates alone do not refuse. */ -}}
{{- define "acklog.check" -}}
{{- include "acklog.checkTrust" . }}
{{- with .Values }}
{{- $given := 0 }}
{{- range list .auth.existingSecret .auth.tokensFile (ternary "yes" "" .auth.insecure) }}
{{- if . }}{{ $given = add $given 1 }}{{ end }}
{{- end }}
{{- if ne (int $given) 1 }}
{{- fail "Say how clients are known: exactly one of auth.existingSecret (a Secret with the tokens file), auth.tokensFile (its content), or auth.insecure=true, with which everybody who reaches the gateways can read and write everything." }}
{{- end }}
{{- if eq .mode "cluster" }}
{{- $secure := 0 }}
{{- range .etcd.endpoints }}{{ if hasPrefix "https://" . }}{{ $secure = add $secure 1 }}{{ end }}{{ end }}
{{- if and (gt (int $secure) 0) (ne (int $secure) (len .etcd.endpoints)) }}
{{- fail "etcd.endpoints: all have to be http, or all https." }}
{{- end }}
{{- if and (gt (int $secure) 0) (not .etcd.tls.existingSecret) }}
{{- fail "etcd.endpoints are https, so etcd.tls.existingSecret is needed, with the authority that signed etcd's certificates." }}
{{- end }}
{{- if and .etcd.tls.existingSecret (eq (int $secure) 0) }}
{{- fail "etcd.tls.existingSecret needs etcd.endpoints with https://." }}
{{- end }}
{{- if ne (empty .etcd.user) (empty .etcd.passwordSecret) }}
{{- fail "etcd.user and etcd.passwordSecret go together." }}
{{- end }}
{{- if and .etcd.user (not .etcd.endpoints) }}
{{- fail "etcd.user is of an etcd that there is: give etcd.endpoints." }}
{{- end }}
{{- if and .gateways.autoscaling.enabled (gt (int .gateways.autoscaling.minReplicas) (int .gateways.autoscaling.maxReplicas)) }}
{{- fail "gateways.autoscaling.minReplicas is above maxReplicas." }}
{{- end }}
{{- end }}
{{- with .tls }}
{{- if and (not .existingSecret) (not .secretPrefix) (or .acceptClear (ne .peers "require")) }}
{{- fail "tls.acceptClear and tls.peers are steps on the way to TLS: they need tls.existingSecret (or tls.secretPrefix), with the certificates." }}
{{- end }}
{{- if and .existingSecret .secretPrefix }}
{{- fail "tls.existingSecret is one Secret for all, tls.secretPrefix is for one each: give one of the two." }}
{{- end }}
{{- end }}
{{- range list .nodes .gateways .embedded }}
{{- if eq (toString (get .environment "ACKLOG_TLS_CLIENT_CERTIFICATES")) "required" }}
{{- fail "ACKLOG_TLS_CLIENT_CERTIFICATES may be none or optional: the kubelet has no certificate, so with `required` all probes would fail." }}
{{- end }}
{{- end }}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) }}
{{- fail "httpRoute.parentRefs is empty: to which Gateway does the route belong?" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What a gateway and the embedded server have in common. */ -}}
{{- define "acklog.serverOptions" -}}
ACKLOG_HOST: {{ ternary "::" "0.0.0.0" (eq .Values.ipFamily "IPv6") | quote }}
ACKLOG_PORT: "8080"
ACKLOG_LOG_LEVEL: {{ .Values.logLevel }}
TMPDIR: /var/tmp
{{- if .Values.auth.insecure }}
ACKLOG_INSECURE: "true"
{{- else }}
ACKLOG_TOKENS_FILE: /etc/acklog/tokens/{{ include "acklog.tokensKey" . }}
{{- end }}
{{- include "acklog.tlsOptions" . }}
{{- include "acklog.sqsOptions" . }}
{{- if not .Values.console.enabled }}
ACKLOG_NO_CONSOLE: "true"
{{- end }}
{{- end }}

{{- /* Whether the calls of SQS are answered, and what its queues are called. */ -}}
{{- define "acklog.sqsOptions" -}}
{{- if .Values.sqs.enabled }}
ACKLOG_SQS_ACCOUNT: {{ .Values.sqs.account | quote }}
ACKLOG_SQS_REGION: {{ .Values.sqs.region | quote }}
{{- else }}
ACKLOG_NO_SQS: "true"
{{- end }}
{{- with .Values.publicUrl }}
ACKLOG_PUBLIC_URL: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "acklog.tokensMounts" -}}
{{- if not .Values.auth.insecure }}
- {name: tokens, mountPath: /etc/acklog/tokens, readOnly: true}
{{- end }}
{{- end }}

{{- define "acklog.tokensVolumes" -}}
{{- if not .Values.auth.insecure }}
- name: tokens
  secret: {secretName: {{ include "acklog.tokensSecret" . }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{- /* The tokens are read at the start: a pod with others is another pod. Call with (dict "root" $ "pod" $values). */ -}}
{{- define "acklog.serverAnnotations" -}}
{{- if or .pod.podAnnotations .root.Values.auth.tokensFile }}
annotations:
  {{- with .root.Values.auth.tokensFile }}
  checksum/tokens: {{ sha256sum . }}
  {{- end }}
  {{- with .pod.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "acklog.serverComponent" -}}
{{- ternary "gateway" "embedded" (eq .Values.mode "cluster") }}
{{- end }}
