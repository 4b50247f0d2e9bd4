// Named limits of the wire. Everything bounded has its bound here.

/** Reserved group name of queue mode. */
export const QUEUE_MODE_GROUP = '__QUEUE_MODE__';

/** Partition of a push that names none. */
export const DEFAULT_PARTITION = 'Default';

/** Tenant of every request while tenancy is off. */
export const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** bytes(tenant) + bytes(queue) + max(bytes(partition), bytes(group)) (reference §0.4). */
export const NAME_BUDGET_BYTES = 447;

/**
 * Most items of one push. A tiny item takes ten times its size while it is handled, and a body of them
 * holds the thread for as long as it is read.
 */
export const PUSH_ITEMS_MAX = 2 ** 18;

/** Longest namespace or task label of a queue in bytes of UTF-8. */
export const LABEL_BYTES_MAX = 411;

/** Most items of one ack, and most acks of one transaction: as many as one pop can deliver. */
export const ACK_ITEMS_MAX = 65_536;

/** Longest transaction id in bytes of UTF-8. */
export const TRANSACTION_ID_BYTES_MAX = 65_535;

/** Longest error text of an ack in UTF-16 units; a longer one is cut and ends in «…». */
export const ACK_ERROR_TEXT_LENGTH_MAX = 4096;

/** Longest `sub` of a token that is stored with a message, in bytes of UTF-8. */
export const PRODUCER_SUB_BYTES_MAX = 65_535;

/** Deepest nesting of arrays and objects that a JSON body may have. */
export const JSON_DEPTH_MAX = 20_000;

/** Default of `QUEEN_MAX_BODY_BYTES`. */
export const BODY_BYTES_MAX_DEFAULT = 64 * 1024 * 1024;

/** Default of `QUEEN_RAFT_ENTRY_MAX_BYTES`: the largest planned command. */
export const ENTRY_BYTES_MAX_DEFAULT = 96 * 1024 * 1024;

/** Longest `Idempotency-Key` in bytes of UTF-8. */
export const IDEMPOTENCY_KEY_BYTES_MAX = 255;

/** Messages that a pop may take when it does not say. */
export const POP_BATCH_DEFAULT = 200;

/** Most that one pop delivers, in bytes, unless a single message is larger. */
export const POP_BYTES_MAX_DEFAULT = 16 * 1024 * 1024;

/** Most partitions that a conflating pop asks for by itself (reference §2.1). */
export const CONFLATED_PARTITIONS_MAX = 64;

/** Seconds of a lease extension that does not say. */
export const EXTEND_SECONDS_DEFAULT = 60;

/** Longest lease extension in seconds. */
export const EXTEND_SECONDS_MAX = 2 ** 31 - 1;

/** Longest `timeout` of a pop in milliseconds (decisions D1). */
export const POP_TIMEOUT_MS_MAX = 600_000;
