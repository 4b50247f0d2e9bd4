// The one table of error codes: HTTP status, whether a retry can help, and what is known about the
// outcome. Codes are API; messages are for people.

/** `notApplied`: nothing happened. `unknown`: it may have happened; retry only idempotent requests. */
export type ErrorOutcome = 'notApplied' | 'unknown';

interface ErrorRow {
  readonly status: number;
  readonly retryable: boolean;
  readonly outcome: ErrorOutcome;
}

/** Every code the broker answers with. */
export const ERRORS = {
  bad_body: { status: 400, retryable: false, outcome: 'notApplied' },
  bad_request: { status: 400, retryable: false, outcome: 'notApplied' },
  /** Never reaches a client: the receiving node seals the payloads and sends the command again. */
  encryption_required: { status: 503, retryable: true, outcome: 'notApplied' },
  encryption_key_missing: { status: 400, retryable: false, outcome: 'notApplied' },
  no_such_route: { status: 404, retryable: false, outcome: 'notApplied' },
  method_not_allowed: { status: 405, retryable: false, outcome: 'notApplied' },
  body_too_large: { status: 413, retryable: false, outcome: 'notApplied' },
  name_too_long: { status: 413, retryable: false, outcome: 'notApplied' },
  too_large: { status: 413, retryable: false, outcome: 'notApplied' },
  overloaded: { status: 429, retryable: true, outcome: 'notApplied' },
  internal: { status: 500, retryable: false, outcome: 'unknown' },
  retry: { status: 503, retryable: true, outcome: 'unknown' },
  no_leader: { status: 503, retryable: true, outcome: 'notApplied' },
  timeout: { status: 503, retryable: true, outcome: 'unknown' },
  outcome_unknown: { status: 503, retryable: true, outcome: 'unknown' },
  maintenance: { status: 503, retryable: true, outcome: 'notApplied' },
  shutting_down: { status: 503, retryable: true, outcome: 'notApplied' },
  encryption_key_mismatch: { status: 503, retryable: false, outcome: 'notApplied' },
  storage_full: { status: 507, retryable: true, outcome: 'notApplied' },
} as const satisfies Record<string, ErrorRow>;

/** A stable error code. */
export type ErrorCode = keyof typeof ERRORS;

/** An operating error that reaches a client: an expected failure, not a bug. */
export class BrokerError extends Error {
  override readonly name = 'BrokerError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }
}
