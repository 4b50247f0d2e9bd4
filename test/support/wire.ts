// The wire shapes that the tests read and write, as the contract spells them. Deliberately not the
// product's own types: a renamed field must break a test.

/** One item of a push. */
export interface PushItem {
  readonly queue: string;
  readonly partition?: string | null;
  readonly payload: unknown;
  readonly transactionId?: string | null;
  readonly traceId?: string;
}

/** Verdict of a push on one item. */
export interface Verdict {
  readonly index: number;
  readonly message_id: string;
  readonly transaction_id: string;
  readonly queueName: string;
  readonly status: 'queued' | 'duplicate' | 'error';
  readonly offset?: number;
}

/** One delivered message. */
export interface Message {
  readonly id: string;
  readonly transactionId: string;
  readonly traceId: string | null;
  readonly data: unknown;
  readonly producerSub: string | null;
  readonly createdAt: string;
  readonly partitionId: string;
  readonly partition: string;
  readonly leaseId: string;
  readonly consumerGroup: string;
  readonly deliveryAttempt: number;
  readonly offset: number;
}

/** Body of a pop that delivered something. */
export interface Batch {
  readonly success: boolean;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly consumerGroup: string;
  readonly messages: readonly Message[];
  readonly partitionsClaimed: number;
}

/** Query parameters of a pop. Unlisted ones go through {@link HttpClient.request}. */
export interface PopQuery {
  readonly batch?: number;
  readonly partitions?: number;
  readonly autoAck?: boolean;
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly leaseSeconds?: number;
  readonly consumerGroup?: string;
  readonly subscriptionMode?: string;
  readonly subscriptionFrom?: string;
  readonly namespace?: string;
  readonly task?: string;
}

/** One acknowledgement. */
export interface AckItem {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId?: string | null;
  readonly status?: string;
  readonly error?: string | null;
}

/** Verdict of an ack on one item. */
export interface AckVerdict {
  readonly index: number;
  readonly transactionId: string;
  readonly success: boolean;
  readonly error: string | null;
  readonly leaseReleased: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
}

/** Answer to a lease extension. */
export interface Extension {
  readonly leaseId: string;
  readonly success: boolean;
  readonly renewed: number;
  readonly newExpiresAt: string | null;
  readonly expiresAt: string | null;
  readonly lease_expires_at: string | null;
}

/** Options as the broker echoes them. */
export type EchoedOptions = Readonly<Record<string, number | boolean | string>>;

/** Answer to a configure. */
export interface Configured {
  readonly configured: boolean;
  readonly queueId: string;
  readonly partitionId: null;
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly storage: string;
  readonly options: EchoedOptions;
}

/** One row of the queue list. */
export interface QueueRow {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly storage: string;
  readonly partitions: number;
  readonly segments: { readonly segments: number; readonly messages: number };
  readonly messages: {
    readonly total: number;
    readonly pending: number;
    readonly processing: number;
    readonly completed: number;
    readonly deadLetter: number;
  };
  readonly retainedBytes: number;
  readonly options: EchoedOptions;
  readonly createdAt: string;
}

/** An error envelope. */
export interface ErrorBody {
  readonly error: string;
  readonly code: string;
  readonly path?: string;
}
