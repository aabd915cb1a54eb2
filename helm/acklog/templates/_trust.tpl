{{- /* Of a gateway or the embedded server: whom it takes signed tokens of, what it records, and which pages call it. */ -}}
{{- define "acklog.trustOptions" -}}
{{- $options := dict }}
{{- with .Values.auth.jwt }}
{{- if .issuer }}
{{- $_ := set $options "ACKLOG_JWT_ISSUER" .issuer }}
{{- $_ := set $options "ACKLOG_JWT_AUDIENCE" (join "," .audience) }}
{{- end }}
{{- if .keysUrl }}
{{- $_ := set $options "ACKLOG_JWT_KEYS_URL" .keysUrl }}
{{- end }}
{{- if .caSecret }}
{{- $_ := set $options "ACKLOG_JWT_CA_FILE" (printf "/etc/acklog/issuer/%s" .caSecretKey) }}
{{- end }}
{{- end }}
{{- if .Values.audit.mode }}
{{- $_ := set $options "ACKLOG_AUDIT" .Values.audit.mode }}
{{- end }}
{{- if .Values.corsOrigins }}
{{- $_ := set $options "ACKLOG_CORS_ORIGINS" (join "," .Values.corsOrigins) }}
{{- end }}
{{- if .Values.encryption.newTopics }}
{{- $_ := set $options "ACKLOG_ENCRYPT_TOPICS" "true" }}
{{- end }}
{{- toYaml $options }}
{{- end }}

{{- define "acklog.issuerMounts" -}}
{{- if .Values.auth.jwt.caSecret }}
- {name: issuer, mountPath: /etc/acklog/issuer, readOnly: true}
{{- end }}
{{- end }}

{{- define "acklog.issuerVolumes" -}}
{{- with .Values.auth.jwt }}
{{- if .caSecret }}
- name: issuer
  secret:
    secretName: {{ .caSecret }}
    defaultMode: 0440
    items:
      - {key: {{ .caSecretKey }}, path: {{ .caSecretKey }}}
{{- end }}
{{- end }}
{{- end }}

{{- /* Where the issuer is asked for its keys; no address of it is known to a NetworkPolicy. */ -}}
{{- define "acklog.issuerEgress" -}}
{{- $ports := list }}
{{- range $url := list .Values.auth.jwt.issuer .Values.auth.jwt.keysUrl }}
{{- if or (hasPrefix "https://" $url) (hasPrefix "http://" $url) }}
{{- $parts := urlParse $url }}
{{- $port := regexFind ":[0-9]+$" $parts.host | trimPrefix ":" }}
{{- $ports = append $ports (default (ternary "443" "80" (eq $parts.scheme "https")) $port) }}
{{- end }}
{{- end }}
{{- if $ports }}
- ports:
    {{- range $port := uniq $ports }}
    - {port: {{ $port }}}
    {{- end }}
{{- end }}
{{- end }}

{{- /* Of a node or the embedded server. */ -}}
{{- define "acklog.masterKeyOptions" -}}
{{- $options := dict }}
{{- with .Values.encryption }}
{{- if .masterKeySecret }}
{{- $_ := set $options "ACKLOG_MASTER_KEY_FILE" (printf "/etc/acklog/master-key/%s" .masterKeySecretKey) }}
{{- end }}
{{- if .previousMasterKeySecret }}
{{- $_ := set $options "ACKLOG_PREVIOUS_MASTER_KEY_FILE" (printf "/etc/acklog/previous-master-key/%s" .previousMasterKeySecretKey) }}
{{- end }}
{{- end }}
{{- toYaml $options }}
{{- end }}

{{- define "acklog.masterKeyMounts" -}}
{{- with .Values.encryption }}
{{- if .masterKeySecret }}
- {name: master-key, mountPath: /etc/acklog/master-key, readOnly: true}
{{- end }}
{{- if .previousMasterKeySecret }}
- {name: previous-master-key, mountPath: /etc/acklog/previous-master-key, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- /* Nothing else of these Secrets is in the pod. */ -}}
{{- define "acklog.masterKeyVolumes" -}}
{{- with .Values.encryption }}
{{- if .masterKeySecret }}
- name: master-key
  secret:
    secretName: {{ .masterKeySecret }}
    defaultMode: 0440
    items:
      - {key: {{ .masterKeySecretKey }}, path: {{ .masterKeySecretKey }}}
{{- end }}
{{- if .previousMasterKeySecret }}
- name: previous-master-key
  secret:
    secretName: {{ .previousMasterKeySecret }}
    defaultMode: 0440
    items:
      - {key: {{ .previousMasterKeySecretKey }}, path: {{ .previousMasterKeySecretKey }}}
{{- end }}
{{- end }}
{{- end }}

{{- /* What schema and templates alone do not refuse of it. */ -}}
{{- define "acklog.checkTrust" -}}
{{- with .Values.auth }}
{{- if ne (empty .jwt.issuer) (empty .jwt.audience) }}
{{- fail "auth.jwt.issuer and auth.jwt.audience go together: without an audience every token of the issuer would be taken, also those for others." }}
{{- end }}
{{- if and (not .jwt.issuer) (or .jwt.keysUrl .jwt.caSecret) }}
{{- fail "auth.jwt.keysUrl and auth.jwt.caSecret need auth.jwt.issuer." }}
{{- end }}
{{- if and .jwt.issuer .insecure }}
{{- fail "auth.jwt.issuer needs a tokens file (auth.existingSecret or auth.tokensFile), whose identities say what callers may do: with auth.insecure nobody is asked for a token." }}
{{- end }}
{{- if and .insecure (has "*" $.Values.corsOrigins) }}
{{- fail "corsOrigins is *, which lets every web page use a server that asks nobody for a token: name the origins, or ask for tokens." }}
{{- end }}
{{- end }}
{{- with .Values.encryption }}
{{- if and (not .masterKeySecret) (or .previousMasterKeySecret .newTopics) }}
{{- fail "encryption.previousMasterKeySecret and encryption.newTopics need encryption.masterKeySecret, with the master key of now." }}
{{- end }}
{{- end }}
{{- end }}
