import { encodeUtf8 } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import type { BlockReader } from './block-reader.ts';
import { MINTED_TXN } from './commands.ts';
import type { Id128 } from './commands.ts';
import { NO_OPENER, openFrames, SealBindings } from './sealing.ts';
import type { PayloadOpener } from './sealing.ts';

const ID: Id128 = [0x01980000, 0x00007000, 0x80000000, 7];
const DECODER = new TextDecoder();

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

describe('what a payload is bound to', () => {
  it('differs with queue, partition, transaction id and its kind, wherever names are cut', () => {
    const id = encodeUtf8('id');
    const minted = new SealBindings('q', 'p').minted(ID);
    const bindings = [
      new SealBindings('q', 'p').given(id),
      new SealBindings('qp', '').given(id),
      new SealBindings('', 'qp').given(id),
      new SealBindings('q', 'pi').given(encodeUtf8('d')),
      new SealBindings('q', 'p').given(encodeUtf8('ie')),
      new SealBindings('q', 'p').given(new Uint8Array(0)),
      minted,
      new SealBindings('q', 'p').given(minted.subarray(-12)),
    ].map(text);
    expect(new Set(bindings).size).toBe(bindings.length);
  });

  it('is the documented form', () => {
    const given = new SealBindings('q', 'pé').given(encodeUtf8('t'));
    expect(text(given)).toBe('01' + '000171' + '000370c3a9' + '01' + '74');
    const minted = new SealBindings('q', 'p').minted(ID);
    expect(text(minted)).toBe('01' + '000171' + '000170' + '00' + '019800000000700080000000');
  });

  it('names the request of a minted id, not the message: the leader gives out the rest', () => {
    const bindings = new SealBindings('q', 'p');
    const [a, b, c] = ID;
    expect(bindings.minted([a, b, c, 8])).toEqual(bindings.minted(ID));
    expect(bindings.minted([a, b, c + 1, 7])).not.toEqual(bindings.minted(ID));
  });
});

describe('sealed frames', () => {
  it('are opened one by one, each for its own message, and lend nothing', () => {
    const bytes = encodeUtf8('t1SEALEDoneSEALEDtwo');
    const frames = { bytes, spans: Uint32Array.of(0, 2, 2, 9, 11, MINTED_TXN, 11, 9) };
    const block = { messageId: (ordinal: number): Id128 => [1, 2, ordinal, 0] } as BlockReader;
    const bound: string[] = [];
    const opener: PayloadOpener = {
      holdsKeyOf: () => true,
      open(sealed, binding) {
        bound.push(text(binding));
        return sealed.subarray('SEALED'.length);
      },
    };
    const place = { queue: 'q', partition: 'p' };
    const opening = openFrames({ block, first: 4, frames }, place, opener);
    const steps = [opening.next().done, opening.next().done];
    const end = opening.next();
    expect([...steps, end.done]).toEqual([false, false, true]);
    const opened = end.value!;
    expect([...opened.spans]).toEqual([0, 2, 2, 3, 11, MINTED_TXN, 11, 3]);
    expect(DECODER.decode(opened.bytes.subarray(2, 5))).toBe('one');
    expect(DECODER.decode(opened.bytes.subarray(11, 14))).toBe('two');
    expect(DECODER.decode(bytes)).toBe('t1SEALEDoneSEALEDtwo');
    const bindings = new SealBindings('q', 'p');
    expect(bound).toEqual([
      text(bindings.given(encodeUtf8('t1'))),
      text(bindings.minted([1, 2, 5, 0])),
    ]);
  });

  it('stay closed on a node without a key', () => {
    expect(NO_OPENER.holdsKeyOf(new Uint8Array(50))).toBe(false);
    expect(() => NO_OPENER.open(new Uint8Array(50), new Uint8Array(0))).toThrow('has no key');
  });
});
