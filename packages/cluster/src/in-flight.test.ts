import { describe, expect, it } from 'vitest';
import { MemoryLogStore } from '@queen-ts/raft/testing';
import { InFlight } from './in-flight.ts';

const RANGE = { index: 1, from: 0, toExclusive: 2 };

async function logOfOne(): Promise<MemoryLogStore> {
  const log = new MemoryLogStore();
  const payload = Uint8Array.of(1, 2);
  await log.append([{ index: 1, term: 1, type: 'command', head: new Uint8Array(0), payload }]);
  return log;
}

describe('payloads', () => {
  it('come from the log once they are not in flight', async () => {
    const inFlight = new InFlight();
    inFlight.attach(await logOfOne());
    expect(inFlight.payload(RANGE)).toEqual(Uint8Array.of(1, 2));
  });

  it('that were purged while an answer was on its way may be asked for again', async () => {
    const log = await logOfOne();
    const inFlight = new InFlight();
    inFlight.attach(log);
    await log.compact(1);
    expect(inFlight.payload(RANGE)).toEqual(Uint8Array.of(1, 2));
    await log.archive.purge([{ index: 1, kept: [] }]);
    expect(() => inFlight.payload(RANGE)).toThrow(expect.objectContaining({ code: 'retry' }));
  });

  it('that are damaged are no such thing', () => {
    const inFlight = new InFlight();
    const damage = Object.assign(new Error('checksum mismatch'), { code: 'CORRUPTION' });
    inFlight.attach({
      payload: () => {
        throw damage;
      },
    });
    expect(() => inFlight.payload(RANGE)).toThrow(damage);
  });
});
