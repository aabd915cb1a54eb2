"""The numbers that hold everywhere. Each is a contract: the API documents it and a test stands at it."""

MESSAGE_BODY_BYTES_MAX = 1024 * 1024
REQUEST_BODY_BYTES_MAX = 16 * 1024 * 1024
REQUEST_MESSAGES_MAX = 10_000
JSON_DEPTH_MAX = 64
MESSAGE_TEXT_BYTES_MAX = 4 * 1024 * 1024  # of one message: its body, its headers in the longest escapes, and room
GZIP_MEMBERS_MAX = 4096  # of a body; a block compressor makes one for every 64 KiB

NAME_LENGTH_MAX = 249  # topics, as in Kafka: a directory name with a suffix must stay below 255 bytes
NAMESPACE_LENGTH_MAX = 64  # of what is before the `/` of a name; the whole is bounded as names without one are
KEY_BYTES_MAX = 1024
DEDUP_KEY_BYTES_MAX = 128  # SQS: MessageDeduplicationId
CONSUMER_NAME_LENGTH_MAX = 128
HEADERS_MAX = 32
HEADER_NAME_BYTES_MAX = 128
HEADER_VALUE_BYTES_MAX = 4096
TAGS_MAX = 16
TAG_BYTES_MAX = 64
CONTENT_TYPE_BYTES_MAX = 128
FILTER_BYTES_MAX = 4096  # of a filter's text
FILTER_TERMS_MAX = 64  # comparisons
FILTER_VALUES_MAX = 256  # of one list
FILTER_DEPTH_MAX = 16  # parentheses and `not` within each other
DELAY_SECONDS_MAX = 365 * 24 * 60 * 60  # how far ahead a message may be scheduled: a year
RECURRING_BODY_BYTES_MAX = 8 * 1024  # of the message that a recurring schedule sends: every node keeps all of them
TTL_SECONDS_MIN = 0.001
TTL_SECONDS_MAX = 10 * 365 * 24 * 60 * 60  # what lives for longer is left to retention
TIMESTAMP_MS_MAX = 253_402_300_799_999  # the last millisecond of the year 9999

# What one record adds beside its body is bounded by the limits above; a batch carries at most one request.
BATCH_BYTES_MAX = 2 * REQUEST_BODY_BYTES_MAX + 4 * 1024 * 1024
BATCH_RECORDS_MAX = 1024 * 1024  # many requests together; whoever decodes a batch makes room for what its header says

PARTITIONS_DEFAULT = 8
PARTITIONS_MAX = 1024
NODE_ID_MAX = 1_000_000
COMMIT_METADATA_BYTES_MAX = 4096  # of a reader's own beside its position, as much as Kafka allows
BLOCKED_LISTED_DEFAULT = 100
BLOCKED_LISTED_MAX = 1_000  # blocked messages of a group that one answer shows
REPLICAS_MAX = 100  # of a partition, each on another node

RECEIVE_MESSAGES_DEFAULT = 10
RECEIVE_MESSAGES_MAX = 1000
RECEIVE_BYTES_DEFAULT = 4 * 1024 * 1024
RECEIVE_BYTES_MAX = 16 * 1024 * 1024
RECEIVE_TOPICS_MAX = 16
WAIT_SECONDS_MAX = 20
VISIBILITY_SECONDS_DEFAULT = 30
VISIBILITY_SECONDS_MAX = 43_200
NACK_DELAY_SECONDS_MAX = 43_200
NACK_REASON_BYTES_MAX = 256
FAILURE_REASONS_MAX = 8  # that are remembered of a message, the last ones
RECEIPTS_MAX = 10_000
REDRIVE_IDS_MAX = 1_000  # letters that one redrive job names
REDRIVE_RATE_MAX = 1_000_000  # a second, of a redrive job that is held back

IN_FLIGHT_MAX = 100_000  # leased messages of one group in one partition
MAX_ATTEMPTS_DEFAULT = 16
MAX_ATTEMPTS_MAX = 1000
SESSION_TIMEOUT_MS_DEFAULT = 15_000  # of a member of an exclusive group
SESSION_TIMEOUT_MS_MIN = 1_000
SESSION_TIMEOUT_MS_MAX = 30 * 60 * 1000
REBALANCE_TIMEOUT_MS_DEFAULT = 60_000
REBALANCE_TIMEOUT_MS_MAX = 30 * 60 * 1000
MEMBER_TOPICS_MAX = 1024
MEMBER_PATTERNS_MAX = 64
RETRY_BACKOFF_MIN_MS = 1000
RETRY_BACKOFF_MAX_MS = 600_000
RETRY_DELAYS_MAX = 32  # of a group's list of delays
RETRY_JITTER = 0.5

DEDUP_WINDOW_MS_DEFAULT = 5 * 60 * 1000
DEDUP_WINDOW_MS_MAX = 60 * 60 * 1000
PRODUCE_RETRIES_MS = 60 * 1000  # how long after its first try a gateway may send a batch again
COMPACTION_LAG_MS_DEFAULT = 24 * 60 * 60 * 1000  # after which a message with a later one of its key is removed
TOMBSTONE_RETENTION_MS_DEFAULT = 24 * 60 * 60 * 1000
RETENTION_MS_DEFAULT = 7 * 24 * 60 * 60 * 1000
NAMESPACE_COUNT_MAX = 1_000_000  # of what a namespace may be limited to; beyond it the cluster's limits count
NAMESPACES_LISTED_MAX = 1_000
QUOTA_PER_SECOND_MAX = 1_000_000_000_000  # units, such as bytes; beyond it a quota is none

TOKEN_NAME_LENGTH_MAX = 128
CALLER_NAME_LENGTH_MAX = 261  # of whoever calls: a token's, or what an issuer or a certificate says, behind a prefix
RIGHTS_MAX = 100  # of a token, those of its roles among them
PATTERNS_MAX = 100  # of topics, and of groups, in one right
PATTERN_LENGTH_MAX = NAME_LENGTH_MAX
ROLES_PER_TOKEN_MAX = 16
ROLE_NAME_LENGTH_MAX = 64
TOKEN_GRACE_SECONDS_DEFAULT = 3600  # how long a token's earlier secret is good for after a rotation
TOKEN_GRACE_SECONDS_MAX = 30 * 24 * 60 * 60
TOKENS_LISTED_MAX = 1_000
AUDIT_LISTED_MAX = 1_000
