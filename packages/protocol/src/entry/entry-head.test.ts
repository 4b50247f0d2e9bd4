import { CodecError } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { CONFIGURED_QUEUE_DEFAULTS, implicitQueueOptions } from '../queue-options.ts';
import { EFFECT, GROUP_MODE, ZERO_ID } from './effects.ts';
import type { CursorPutEffect, Effect } from './effects.ts';
import { ENTRY_HEAD_SIZE, EntryHeadReader, EntryWriter } from './entry-head.ts';

const NOW_US = 1_767_225_600_123_456;
const ID = [0x0198f2c1, 0x4d3a7c10, 0x9f2b6a1e, 0xffffffff] as const;

const IDLE_CURSOR: CursorPutEffect = {
  kind: EFFECT.CURSOR_PUT,
  partition: 7,
  group: 3,
  next: 1,
  retryCount: 0,
  leaseId: ZERO_ID,
  leaseExpiresUs: 0,
  leaseFrom: 0,
  leaseToExclusive: 0,
  attemptFrom: 0,
  attemptCount: 0,
  settledLeaseId: ZERO_ID,
  settledFrom: 0,
  settledToExclusive: 0,
};

const EVERY_KIND: readonly Effect[] = [
  { kind: EFFECT.GENESIS, clusterId: ID, hashKey: [1, 2, 3, 0xfffffffe] },
  {
    kind: EFFECT.QUEUE_PUT,
    queue: 1,
    name: 'aufträge.neu',
    id: ID,
    createdUs: NOW_US,
    options: implicitQueueOptions('aufträge.neu'),
  },
  {
    kind: EFFECT.QUEUE_PUT,
    queue: 2,
    name: '',
    id: ID,
    createdUs: NOW_US - 5,
    options: { ...CONFIGURED_QUEUE_DEFAULTS, priority: -2_147_483_648, maxSize: 2_147_483_647 },
  },
  { kind: EFFECT.QUEUE_DELETE, queue: 1 },
  { kind: EFFECT.PARTITION_PUT, queue: 2, name: Uint8Array.of(0xc3, 0xa4) },
  { kind: EFFECT.PARTITION_DELETE, partition: 4_000_000_000 },
  {
    kind: EFFECT.APPEND,
    partition: 9,
    baseOffset: Number.MAX_SAFE_INTEGER - 1,
    count: 100,
    createdUs: NOW_US + 3,
    blockStart: 0,
    blockSize: 65_536,
  },
  {
    kind: EFFECT.LOG_START,
    partition: 9,
    offset: 40,
    retainedBlocks: 3,
    retainedBytes: 9000,
    oldestUs: NOW_US - 7,
  },
  {
    kind: EFFECT.LOG_START,
    partition: 10,
    offset: 41,
    retainedBlocks: 0,
    retainedBytes: 0,
    oldestUs: 0,
  },
  {
    kind: EFFECT.GROUP_PUT,
    group: 3,
    queue: 2,
    name: 'billing',
    registered: true,
    registeredUs: NOW_US,
    mode: GROUP_MODE.FROM,
    fromUs: 0,
    conflation: true,
  },
  {
    kind: EFFECT.GROUP_PUT,
    group: 4,
    queue: 2,
    name: '__QUEUE_MODE__',
    registered: false,
    registeredUs: NOW_US,
    mode: GROUP_MODE.ALL,
    fromUs: 0,
    conflation: false,
  },
  { kind: EFFECT.GROUP_DELETE, group: 3 },
  IDLE_CURSOR,
  {
    ...IDLE_CURSOR,
    next: 17,
    retryCount: 2,
    leaseId: ID,
    leaseExpiresUs: NOW_US + 60_000_000,
    leaseFrom: 15,
    leaseToExclusive: 25,
    attemptFrom: 17,
    attemptCount: 4,
    settledLeaseId: [9, 9, 9, 9],
    settledFrom: 0,
    settledToExclusive: 15,
  },
  { kind: EFFECT.CURSOR_DELETE, partition: 7, group: 3 },
  {
    kind: EFFECT.DEAD_LETTER_PUT,
    deadLetter: 1,
    partition: 7,
    group: 3,
    offset: 16,
    retryCount: 3,
    failedUs: NOW_US,
    recordStart: 65_536,
    blockSize: 200,
    recordSize: 220,
  },
  { kind: EFFECT.DEAD_LETTER_DELETE, deadLetter: 1 },
  { kind: EFFECT.MAINTENANCE, pushPaused: false, popPaused: true },
];

function encode(effects: readonly Effect[]): Uint8Array {
  const writer = new EntryWriter();
  writer.open({ nowUs: NOW_US, firstPartition: 12 });
  for (const effect of effects) writer.effect(effect);
  return writer.finish();
}

function decode(head: Uint8Array): Effect[] {
  const reader = new EntryHeadReader(head);
  const effects: Effect[] = [];
  for (let effect = reader.next(); effect !== undefined; effect = reader.next()) {
    effects.push(effect);
  }
  return effects;
}

describe('the head of an entry', () => {
  test('gives back every kind of effect as it was written', () => {
    const kinds = new Set(EVERY_KIND.map((effect) => effect.kind));
    expect(kinds.size).toBe(Object.keys(EFFECT).length);
    expect(decode(encode(EVERY_KIND))).toEqual(EVERY_KIND);
  });

  test('carries its time, its first partition number and an empty outcome section', () => {
    const reader = new EntryHeadReader(encode([{ kind: EFFECT.QUEUE_DELETE, queue: 1 }]));
    expect(reader.nowUs).toBe(NOW_US);
    expect(reader.firstPartition).toBe(12);
    expect(reader.outcomes.length).toBe(0);
    expect(reader.effectCount).toBe(1);
  });

  test('is small: an idle cursor takes five bytes, an append of one message ten or so', () => {
    expect(encode([IDLE_CURSOR]).length - ENTRY_HEAD_SIZE).toBe(5);
    const append: Effect = {
      kind: EFFECT.APPEND,
      partition: 9,
      baseOffset: 1000,
      count: 1,
      createdUs: NOW_US,
      blockStart: 5000,
      blockSize: 330,
    };
    expect(encode([append]).length - ENTRY_HEAD_SIZE).toBeLessThanOrEqual(10);
  });

  test('forgets the effects of the entry before when it is opened again', () => {
    const writer = new EntryWriter();
    writer.open({ nowUs: 1, firstPartition: 1 });
    writer.effect(IDLE_CURSOR);
    writer.open({ nowUs: 2, firstPartition: 1 });
    writer.effect({ kind: EFFECT.QUEUE_DELETE, queue: 5 });
    expect(decode(writer.finish())).toEqual([{ kind: EFFECT.QUEUE_DELETE, queue: 5 }]);
  });

  test('is refused at every length but its own', () => {
    const head = encode(EVERY_KIND);
    for (let size = 0; size < head.length; size++) {
      expect(() => decode(head.subarray(0, size)), `size ${size}`).toThrow(CodecError);
    }
    const longer = new Uint8Array(head.length + 1);
    longer.set(head);
    expect(() => decode(longer)).toThrow(CodecError);
  });

  test('is refused with another version, reserved bits or an unknown effect', () => {
    const head = encode([{ kind: EFFECT.QUEUE_DELETE, queue: 1 }]);
    for (const [position, value] of [
      [0, 1],
      [0, 3],
      [1, 1],
      [2, 1],
      [ENTRY_HEAD_SIZE, 200],
    ] as const) {
      const changed = head.slice();
      changed[position] = value;
      expect(() => decode(changed), `byte ${position}`).toThrow(CodecError);
    }
  });
});
