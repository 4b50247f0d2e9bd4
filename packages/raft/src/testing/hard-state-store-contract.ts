// The contract suite of HardStateStore.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toNodeId } from '../node-id.ts';
import type { HardStateStore } from '../ports.ts';

/** One new, empty store and the means to restart it. */
export interface HardStateStoreFixture {
  readonly store: HardStateStore;
  /** Opens what a restarted process would find; the earlier store is not used afterwards. */
  reopen(): Promise<HardStateStore>;
  dispose(): Promise<void>;
}

/** Registers the cases every HardStateStore must pass. `open` gives each case a new, empty store. */
export function describeHardStateStoreContract(
  name: string,
  open: () => Promise<HardStateStoreFixture>,
): void {
  describe(`HardStateStore contract: ${name}`, () => {
    let fixture: HardStateStoreFixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.dispose());

    it('starts with the zero state', () => {
      expect(fixture.store.current).toEqual({ term: 0, votedFor: 0, commitIndex: 0 });
    });

    it('shows a saved state and finds it again after a restart', async () => {
      const state = { term: 7, votedFor: toNodeId(3), commitIndex: 41 };
      await fixture.store.save(state);
      expect(fixture.store.current).toEqual(state);
      expect((await fixture.reopen()).current).toEqual(state);
    });

    it('keeps the last of many saves', async () => {
      for (let term = 1; term <= 5; term++) {
        await fixture.store.save({
          term,
          votedFor: term % 2 === 0 ? toNodeId(2) : 0,
          commitIndex: 0,
        });
      }
      expect((await fixture.reopen()).current).toEqual({ term: 5, votedFor: 0, commitIndex: 0 });
    });

    it('holds terms and indexes beyond 32 bits', async () => {
      const state = {
        term: 2 ** 40 + 1,
        votedFor: toNodeId(2 ** 32 - 1),
        commitIndex: 2 ** 45 + 3,
      };
      await fixture.store.save(state);
      expect((await fixture.reopen()).current).toEqual(state);
    });

    it('keeps its incarnation over saves and restarts', async () => {
      const { incarnation } = fixture.store;
      expect(incarnation).toBeGreaterThanOrEqual(1);
      expect(Number.isSafeInteger(incarnation)).toBe(true);
      await fixture.store.save({ term: 1, votedFor: 0, commitIndex: 0 });
      expect(fixture.store.incarnation).toBe(incarnation);
      expect((await fixture.reopen()).incarnation).toBe(incarnation);
    });
  });
}
