import { describe, expect, it } from 'vitest';
import { NO_PARTITION } from './commands.ts';
import { parsePartitionId, partitionIdText } from './partition-id.ts';

describe('partition ids', () => {
  it('are UUIDs that carry the number', () => {
    expect(partitionIdText(1)).toBe('7175656e-7473-8000-8000-000000000001');
    expect(partitionIdText(0xffffffff)).toBe('7175656e-7473-8000-8000-0000ffffffff');
  });

  it('round-trip, in either case and as decimal digits', () => {
    for (const number of [1, 9, 10, 255, 4096, 1_000_000, 2 ** 31, 2 ** 32 - 1]) {
      expect(parsePartitionId(partitionIdText(number))).toBe(number);
      expect(parsePartitionId(partitionIdText(number).toUpperCase())).toBe(number);
      expect(parsePartitionId(String(number))).toBe(number);
    }
    expect(parsePartitionId('007')).toBe(7);
  });

  it.each([
    '',
    '0',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '1.0',
    '1e3',
    '0x10',
    'ff',
    '4294967296',
    '99999999999',
    '٣',
    '7175656e-7473-8000-8000-000000000000',
    '7175656e-7473-8000-8000-000100000000',
    '7175656e-7473-8000-8000-00000000000g',
    '7175656e-7473-8000-8001-000000000001',
    '7175656e\r7473-8000-8000-000000000001',
    'b1c2d3e4-5f60-7180-9a0b-1c2d3e4f5061',
    '7175656e-7473-8000-8000-0000000000011',
  ])('%j is none', (text) => {
    expect(parsePartitionId(text)).toBe(NO_PARTITION);
  });

  it('asserts the range of what it formats', () => {
    for (const number of [0, -1, 1.5, 2 ** 32]) {
      expect(() => partitionIdText(number)).toThrow('partition number');
    }
  });
});
