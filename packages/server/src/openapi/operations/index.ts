// Every operation, in the order of the document.

import type { Operation } from '../operation.ts';
import { ACK_OPERATIONS } from './ack.ts';
import { CLUSTER_OPERATIONS } from './cluster.ts';
import { GROUP_OPERATIONS } from './consumer-groups.ts';
import { DEAD_LETTER_OPERATIONS } from './dead-letters.ts';
import { MESSAGE_OPERATIONS } from './messages.ts';
import { NODE_OPERATIONS } from './node.ts';
import { POP_OPERATIONS } from './pop.ts';
import { PUSH_OPERATIONS } from './push.ts';
import { QUEUE_OPERATIONS } from './queues.ts';

/** All of them. A new route needs one here; a test says so. */
export const OPERATIONS: readonly Operation[] = [
  ...PUSH_OPERATIONS,
  ...POP_OPERATIONS,
  ...ACK_OPERATIONS,
  ...QUEUE_OPERATIONS,
  ...DEAD_LETTER_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...MESSAGE_OPERATIONS,
  ...CLUSTER_OPERATIONS,
  ...NODE_OPERATIONS,
];
