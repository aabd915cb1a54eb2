"""Values that the chart is rendered with in tests: each switch on and off, alone and with others."""

from typing import Any

Values = dict[str, Any]

TOKENS = """
[[tokens]]
name = "operator"
token = "a token in plain text, for trying things out"
scopes = ["read", "write", "admin"]
"""

INSECURE: Values = {"auth": {"insecure": True}}
ETCD_BY_TLS: Values = {
    "endpoints": ["https://etcd-1.example:2379", "https://etcd-2.example:12379"],
    "user": "acklog",
    "passwordSecret": "etcd-password",
    "tls": {"existingSecret": "etcd-tls", "clientCertificate": True, "serverName": "etcd.example"},
}
TLS: Values = {"existingSecret": "acklog-pki"}
TLS_OF_EACH: Values = {"secretPrefix": "acklog-tls"}
JWT: Values = {
    "issuer": "https://login.example/realms/shop",
    "audience": ["acklog", "queues"],
    "caSecret": "login-ca",
}
MASTER_KEYS: Values = {"masterKeySecret": "master", "previousMasterKeySecret": "master-before"}
_PLACES: Values = {
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "queues", "operator": "Exists"}],
    "priorityClassName": "high",
    "podAnnotations": {"example.com/owner": "platform"},
}
_AFFINITY: Values = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}]
        }
    }
}

MATRIX: dict[str, Values] = {
    "cluster": INSECURE,
    "cluster with tokens in a secret": {"auth": {"existingSecret": "tokens", "existingSecretKey": "tokens.json"}},
    "cluster with tokens of the values": {
        "auth": {"tokensFile": TOKENS},
        "test": {"tokenSecret": "test-token"},
        "serviceMonitor": {"enabled": True, "tokenSecret": "metrics-token", "labels": {"release": "prometheus"}},
    },
    "cluster with an etcd that there is": {**INSECURE, "etcd": {"endpoints": ["http://10.0.0.1:2379"]}},
    "cluster with an etcd by TLS": {
        **INSECURE,
        "etcd": ETCD_BY_TLS,
        "networkPolicy": {"restrictEgress": True},
        "serviceMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
        "dashboards": {"enabled": True, "annotations": {"grafana_folder": "Queues"}},
    },
    "cluster for production": {
        **INSECURE,
        "image": {"repository": "registry.example:5000/acklog", "digest": f"sha256:{'ab' * 32}"},
        "imagePullSecrets": ["pull"],
        "commonLabels": {"team": "queues"},
        "nodes": {
            **_PLACES,
            "replicas": 5,
            "spread": {"zones": "DoNotSchedule", "hosts": "required"},
            "persistence": {"size": "100Gi", "storageClass": "local", "whenScaled": "Delete"},
            "environment": {"ACKLOG_NODE_SCRUB_BYTES_PER_SECOND": 4194304, "ACKLOG_METRIC_NAMES_MAX": "500"},
        },
        "gateways": {
            **_PLACES,
            "autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 20},
            "autoCreateTopics": True,
            "environment": {"ACKLOG_CONNECTIONS_MAX": "5000"},
        },
        "etcd": {"bundled": {**_PLACES, "replicas": 3, "persistence": {"storageClass": "local"}}},
    },
    "cluster with other places": {
        **INSECURE,
        "nodes": {"rackFrom": "host", "advertise": "name", "affinity": _AFFINITY, "spread": {"zones": "none"}},
        "gateways": {"affinity": _AFFINITY, "spread": {"hosts": "none", "zones": "none"}},
    },
    "cluster without racks, by IPv6": {
        **INSECURE,
        "ipFamily": "IPv6",
        "nodes": {"rackFrom": "none", "spread": {"hosts": "none"}},
        "serviceAccount": {"create": False},
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
    },
    "cluster behind an ingress": {
        "auth": {"existingSecret": "tokens"},
        "service": {"type": "NodePort", "nodePort": 30080, "annotations": {"example.com/a": "b"}},
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "hosts": ["queue.example", "*.queues.example"],
            "tls": [{"hosts": ["queue.example"], "secretName": "queue-tls"}],
            "annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "300"},
        },
        "sqs": {"account": "012345678901", "region": "eu-central-1"},
        "publicUrl": "https://queue.example",
        "networkPolicy": {
            "clientsFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}],
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
            "restrictEgress": True,
        },
    },
    "cluster behind a gateway": {
        **INSECURE,
        "fullnameOverride": "queue",
        "httpRoute": {
            "enabled": True,
            "parentRefs": [{"name": "public", "namespace": "gateways"}],
            "hostnames": ["queue.example"],
        },
        "gateways": {
            "autoscaling": {
                "enabled": True,
                "metrics": [
                    {
                        "type": "Pods",
                        "pods": {
                            "metric": {"name": "acklog_requests_in_flight"},
                            "target": {"type": "AverageValue", "averageValue": "200"},
                        },
                    }
                ],
            }
        },
    },
    "cluster by TLS": {
        "auth": {"existingSecret": "tokens"},
        "tls": TLS,
        "test": {"tokenSecret": "test-token"},
        "etcd": ETCD_BY_TLS,
        "serviceMonitor": {"enabled": True, "tokenSecret": "metrics-token"},
        "ingress": {
            "enabled": True,
            "hosts": ["queue.example"],
            "annotations": {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"},
        },
    },
    "cluster on its way to TLS": {
        **INSECURE,
        "fullnameOverride": "queue",
        "tls": {**TLS, "acceptClear": True, "peers": "accept"},
        "serviceMonitor": {"enabled": True},
    },
    "cluster by TLS with a secret for each": {
        **INSECURE,
        "tls": TLS_OF_EACH,
        "nodes": {"replicas": 11},
        "serviceMonitor": {"enabled": True},
    },
    "cluster that dials by TLS": {**INSECURE, "tls": {**TLS, "peers": "prefer"}},
    "cluster with an issuer and a master key": {
        "auth": {"existingSecret": "tokens", "jwt": JWT},
        "encryption": {**MASTER_KEYS, "newTopics": True},
        "audit": {"mode": "required"},
        "corsOrigins": ["https://shop.example", "http://localhost:3000"],
        "networkPolicy": {"restrictEgress": True},
    },
    "embedded with an issuer and a master key": {
        "mode": "embedded",
        "auth": {"tokensFile": TOKENS, "jwt": {**JWT, "keysUrl": "https://keys.example:8443/jwks", "caSecret": ""}},
        "encryption": {"masterKeySecret": "master", "masterKeySecretKey": "of-2031"},
        "audit": {"mode": "off"},
        "corsOrigins": ["*"],
        "networkPolicy": {"restrictEgress": True},
    },
    "embedded": {**INSECURE, "mode": "embedded"},
    "cluster without the console": {**INSECURE, "console": {"enabled": False}},
    "embedded without the console": {**INSECURE, "mode": "embedded", "console": {"enabled": False}},
    "embedded without SQS": {**INSECURE, "mode": "embedded", "sqs": {"enabled": False}},
    "embedded by TLS": {
        **INSECURE,
        "mode": "embedded",
        "tls": TLS,
        "serviceMonitor": {"enabled": True},
    },
    "embedded by TLS with a secret of its own": {
        **INSECURE,
        "mode": "embedded",
        "tls": TLS_OF_EACH,
        "serviceMonitor": {"enabled": True},
    },
    "embedded with everything": {
        "mode": "embedded",
        "auth": {"tokensFile": TOKENS},
        "serviceMonitor": {"enabled": True, "tokenSecret": "metrics-token"},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
        "ingress": {"enabled": True},
        "networkPolicy": {"restrictEgress": True},
        "embedded": {
            **_PLACES,
            "affinity": _AFFINITY,
            "persistence": {"whenDeleted": "Delete", "storageClass": "local"},
            "environment": {"ACKLOG_NODE_SCRUB_BYTES_PER_SECOND": "0", "ACKLOG_REQUEST_TIMEOUT_MS": "5000"},
        },
    },
}
