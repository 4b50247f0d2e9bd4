// All sections, in the order of the reference.

import type { Section } from '../rule.ts';
import { ACK } from './ack.ts';
import { ADDITIONS } from './additions.ts';
import { CONFIGURE } from './configure.ts';
import { CONSUMER_GROUPS } from './consumer-groups.ts';
import { CONVENTIONS } from './conventions.ts';
import { DEAD_LETTERS } from './dead-letters.ts';
import { DEDUP } from './dedup.ts';
import { DELETE_QUEUE } from './delete-queue.ts';
import { ENCRYPTION } from './encryption.ts';
import { FETCH } from './fetch.ts';
import { LABELS } from './labels.ts';
import { LEASE } from './lease.ts';
import { MESSAGES } from './messages.ts';
import { POP } from './pop.ts';
import { PUSH } from './push.ts';
import { QUEUE_RESOURCES } from './queue-resources.ts';
import { RETENTION } from './retention.ts';
import { TRANSACTION } from './transaction.ts';

/** Every section. */
export const SECTIONS: readonly Section[] = [
  CONVENTIONS,
  PUSH,
  ENCRYPTION,
  POP,
  ACK,
  LEASE,
  TRANSACTION,
  CONFIGURE,
  DELETE_QUEUE,
  QUEUE_RESOURCES,
  DEAD_LETTERS,
  CONSUMER_GROUPS,
  MESSAGES,
  FETCH,
  DEDUP,
  RETENTION,
  LABELS,
  ADDITIONS,
];
