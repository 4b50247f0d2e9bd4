// Listings that splice stored payloads: messages, one message, dead letters, fetches; and replays.

import { ByteWriter } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { BLOCK_FLAG } from '../block.ts';
import { payloadOf } from '../block-reader.ts';
import { writeBlock } from '../block-writer.ts';
import type { Id128 } from '../commands.ts';
import type { BlockSpan, PushOutcome } from '../outcomes.ts';
import { PUSH_STATUS } from '../outcomes.ts';
import { partitionIdText } from '../partition-id.ts';
import { CONFIGURED_QUEUE_DEFAULTS } from '../queue-options.ts';
import { parsePush } from '../requests/push.ts';
import { NO_OPENER } from '../sealing.ts';
import { renderDeadLetters } from './dead-letters.ts';
import { renderFetch } from './fetch.ts';
import { renderMessage, renderMessages } from './messages.ts';
import type { MessageRow } from './messages.ts';
import type { Piece } from './piece.ts';
import { renderReplay, REPLAY_GONE } from './replay.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
const CREATED = '2027-01-02T03:04:05.000006Z';
const CREATED_US = Date.UTC(2027, 0, 2, 3, 4, 5) * 1000 + 6;
const HASH_KEY = Uint32Array.of(1, 2, 3, 4);
const ID: Id128 = [0x0198_0000, 0x7000, 0x8000_0000, 7];
const ID_TEXT = '01980000-0000-7000-8000-000000000007';

function joined(pieces: Iterable<Piece>): string {
  const texts = [...pieces].map((piece) =>
    typeof piece === 'string' ? piece : DECODER.decode(piece),
  );
  return texts.join('');
}

/** Appends raw items as one block. */
function stored(items: string, producerSub: string | null = null) {
  const command = parsePush(ENCODER.encode(`{"items":[${items}]}`), {
    hashKey: HASH_KEY,
    mintIds: () => ID,
    producerSub,
    tenant: 't',
  });
  if (command.kind !== 'push') throw new Error(JSON.stringify(command));
  const writer = new ByteWriter();
  const blockSize = writeBlock(writer, {
    command,
    positions: command.order,
    from: 0,
    toExclusive: command.itemCount,
    partitionNumber: 4,
    baseOffset: 10,
    createdUs: CREATED_US,
    messageId: ID,
  });
  const bytes = writer.written();
  const span = (first: number, count = 1): BlockSpan => {
    return { entryIndex: 9, blockStart: 0, blockSize, baseOffset: 10, first, count };
  };
  return { bytes, payloads: payloadOf(bytes), span };
}

function rowOf(span: BlockSpan, change: Partial<MessageRow> = {}): MessageRow {
  return {
    queue: 'q',
    namespace: 'n',
    task: 't',
    priority: 3,
    partition: 'p"',
    partitionNumber: 4,
    offset: span.baseOffset + span.first,
    span,
    status: 'pending',
    totalGroups: 2,
    consumedBy: 1,
    leaseExpiresUs: undefined,
    ...change,
  };
}

describe('the list of messages', () => {
  const { payloads, span } = stored(
    '{"queue":"q","transactionId":"a\\"b","payload":{ "n" : 1.0 }},{"queue":"q","payload":"x"}',
    'me',
  );
  const page = { limit: 5, offset: 2, hasQueueMode: true, namedGroups: 0 };
  const source = { payloads, opener: NO_OPENER, hashKey: HASH_KEY, payloadBytesMax: 1000 };

  test('is one document with payloads as they were pushed', () => {
    const text = joined(renderMessages({ ...page, messages: [rowOf(span(0))] }, source));
    expect(text).toMatch(
      new RegExp(
        String.raw`^\{"messages":\[\{"id":"${ID_TEXT}","transactionId":"a\\"b","txnHash":"[0-9a-f]{32}",` +
          String.raw`"data":\{ "n" : 1\.0 \},"payload":\{ "n" : 1\.0 \},"traceId":null,"producerSub":"me",` +
          String.raw`"createdAt":"${CREATED}","offset":10,"queue":"q","partition":"p\\"","partitionId":` +
          String.raw`"${partitionIdText(4)}","status":"pending","queueStatus":"pending","busStatus":` +
          String.raw`\{"consumedBy":1,"totalGroups":2\},"queuePath":"q/p\\"","namespace":"n","task":"t",` +
          String.raw`"queuePriority":3,"payloadAvailable":true,"leaseExpiresAt":null,"segment":` +
          String.raw`\{"seq":9,"frameIdx":0\},"isEncrypted":false\}\],"total":1,"pagination":` +
          String.raw`\{"limit":5,"offset":2\},"mode":\{"hasQueueMode":true,"busGroupsCount":0,` +
          String.raw`"type":"queue"\}\}$`,
      ),
    );
  });

  test('shows payloads as far as their sizes allow, and says where it does not', () => {
    const messages = [rowOf(span(0)), rowOf(span(1), { leaseExpiresUs: CREATED_US })];
    const small = { ...source, payloadBytesMax: 5 };
    const list = JSON.parse(joined(renderMessages({ ...page, messages }, small))) as {
      messages: object[];
    };
    expect(list.messages).toMatchObject([
      { data: null, payload: null, payloadAvailable: false },
      {
        data: 'x',
        payloadAvailable: true,
        transactionId: '01980000-0000-7000-8000-000000000008',
        leaseExpiresAt: '2027-01-02T03:04:05.000Z',
      },
    ]);
  });

  test.each([
    [false, 0, 'none'],
    [true, 0, 'queue'],
    [false, 2, 'bus'],
    [true, 2, 'hybrid'],
  ])('tells who reads: queue mode %s, groups %i: %s', (hasQueueMode, namedGroups, type) => {
    const text = joined(
      renderMessages({ ...page, hasQueueMode, namedGroups, messages: [] }, source),
    );
    expect(JSON.parse(text)).toMatchObject({ messages: [], total: 0, mode: { type } });
  });

  test('never shows an envelope as a payload', () => {
    const { bytes, span: own } = stored('{"queue":"q","payload":"secret"}');
    const encrypted = bytes.slice();
    encrypted[1]! |= BLOCK_FLAG.ENCRYPTED;
    const sealed = { ...source, payloads: payloadOf(encrypted) };
    const text = joined(renderMessages({ ...page, messages: [rowOf(own(0))] }, sealed));
    expect(text).not.toContain('secret');
    expect(JSON.parse(text)).toMatchObject({
      messages: [{ data: null, payloadAvailable: false, isEncrypted: true }],
    });
    const rows = [{ ...fetched, spans: [own(0)] }];
    expect(() => joined(renderFetch(rows, sealed))).toThrow('this node has no key');
  });
});

test('one message shows its options, its groups and its failure', () => {
  const { payloads, span } = stored('{"queue":"q","transactionId":"a","payload":[1]}');
  const detail = {
    ...rowOf(span(0)),
    options: { ...CONFIGURED_QUEUE_DEFAULTS, namespace: 'n', leaseTime: 9 },
    groups: [{ name: 'g', committed: 9, isConsumed: false, leaseExpiresUs: CREATED_US }],
    failure: { error: 'broken', retryCount: 2 },
  };
  const readers = { hasQueueMode: false, namedGroups: 1 };
  const shown = JSON.parse(
    joined(renderMessage(detail, readers, { payloads, opener: NO_OPENER })),
  ) as object;
  expect(shown).toMatchObject({
    data: [1],
    errorMessage: 'broken',
    retryCount: 2,
    queueConfig: { leaseTime: 9, maxQueueSize: 0 },
    mode: { type: 'bus' },
    consumerGroups: [
      { name: 'g', committed: 9, consumed: false, leaseExpiresAt: '2027-01-02T03:04:05.000Z' },
    ],
  });
  const fine = { ...detail, failure: undefined };
  expect(
    JSON.parse(joined(renderMessage(fine, readers, { payloads, opener: NO_OPENER }))),
  ).toMatchObject({
    errorMessage: null,
    retryCount: 0,
  });
});

test('dead letters show an absent payload as null', () => {
  const letter = {
    id: ID,
    queue: 'q',
    partition: 'p',
    partitionNumber: 4,
    group: 'g',
    offset: 5,
    messageId: ID,
    transactionId: 'a',
    payload: new Uint8Array(0),
    isEncrypted: false,
    isMinted: false,
    error: 'bad "thing"',
    retryCount: 3,
    failedUs: CREATED_US,
  };
  const page = { deadLetters: [letter, letter], total: 7, limit: 2, offset: 1 };
  const text = joined(renderDeadLetters(page, NO_OPENER));
  expect(text).toContain('"transactionId":"a","data":null,"payload":null,"errorMessage":"bad');
  expect(JSON.parse(text)).toMatchObject({
    messages: [{ createdAt: CREATED, failedAt: CREATED }, {}],
    total: 7,
    pagination: { limit: 2, offset: 1 },
  });
});

const fetched = {
  queue: 'q',
  partition: 'p',
  spans: [] as readonly BlockSpan[],
  highWatermark: 12,
  logStartOffset: 3,
  error: undefined as string | undefined,
};

test('a fetch separates records over spans, and entries', () => {
  const { payloads, span } = stored(
    '{"queue":"q","transactionId":"a","payload": 1 },{"queue":"q","payload":2},{"queue":"q","payload":3}',
  );
  const rows = [
    { ...fetched, spans: [span(0, 2), span(2)] },
    { ...fetched, error: 'OFFSET_OUT_OF_RANGE' },
  ];
  const text = joined(renderFetch(rows, { payloads, opener: NO_OPENER }));
  expect(text).toContain(
    `"records":[{"offset":10,"transactionId":"a","payload":1,"ts":"${CREATED}"},{"offset":11,`,
  );
  const { entries } = JSON.parse(text) as { entries: { records: { offset: number }[] }[] };
  expect(entries[0]?.records.map(({ offset }) => offset)).toEqual([10, 11, 12]);
  expect(
    text.endsWith('"highWatermark":12,"logStartOffset":3,"error":"OFFSET_OUT_OF_RANGE"}]}'),
  ).toBe(true);
  expect(joined(renderFetch([], { payloads, opener: NO_OPENER }))).toBe('{"entries":[]}');
});

describe('a replay', () => {
  const push = (status: number, errors?: PushOutcome['errors']): PushOutcome => ({
    kind: 'push',
    statuses: Uint8Array.of(status),
    offsets: Float64Array.of(4),
    messageIds: Uint32Array.from(ID),
    errors,
  });
  const outcome = {
    kind: 'replayDeadLetter',
    id: ID,
    result: 'moved',
    queue: 'q',
    partition: 'p',
    group: 'g',
    originalTransactionId: 'a',
    push: push(PUSH_STATUS.QUEUED),
  } as const;

  test('tells what became of the copy', () => {
    const { status, body } = renderReplay(outcome);
    expect(status).toBe(200);
    expect(DECODER.decode(body)).toBe(
      '{"success":true,"result":"moved","queue":"q","partition":"p","consumerGroup":"g","dlqId":' +
        `"${ID_TEXT}","originalTransactionId":"a","replayedAs":{"index":0,"message_id":"${ID_TEXT}",` +
        `"transaction_id":"dlq:${ID_TEXT}","queueName":"q","status":"queued","offset":4},` +
        '"dlqRowRemoved":true}',
    );
    const repeated = {
      ...outcome,
      result: 'duplicate',
      push: push(PUSH_STATUS.DUPLICATE),
    } as const;
    expect(JSON.parse(DECODER.decode(renderReplay(repeated).body))).toMatchObject({
      result: 'duplicate',
      replayedAs: { status: 'duplicate' },
      dlqRowRemoved: false,
    });
  });

  test('that was refused is a conflict, and one of nothing is gone', () => {
    const errors = new Map([[0, { code: 'too_large', message: 'too large' } as const]]);
    const refused = renderReplay({ ...outcome, push: push(PUSH_STATUS.ERROR, errors) });
    expect(refused.status).toBe(409);
    expect(JSON.parse(DECODER.decode(refused.body))).toEqual({
      success: false,
      error: 'too large',
      reason: 'too_large',
      dlqRowRemoved: false,
    });
    const gone = { ...outcome, result: 'gone', push: undefined } as const;
    expect(renderReplay(gone)).toBe(REPLAY_GONE);
  });
});
