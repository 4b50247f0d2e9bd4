// Who wakes, who does not, and in which order.

import { describe, expect, it } from 'vitest';
import { ParkingLot } from './parking-lot.ts';
import type { Claimable } from './parking-lot.ts';
import { waitingPop } from './testing/requests.ts';
import type { PopRequest } from './request.ts';

const LABELS = { namespace: 'sales', task: 'email' };

function appended(queue: string, partitions: readonly string[] = ['p']): Claimable {
  return { queue, labels: LABELS, groups: undefined, partitions: () => partitions };
}

/** Wakes and returns the pops that were tried; the first `served` of them claim something. */
function wake(lot: ParkingLot, claimable: Claimable, served: number): PopRequest[] {
  const tried: PopRequest[] = [];
  lot.wake(claimable, (pop) => {
    tried.push(pop);
    return tried.length <= served;
  });
  return tried;
}

describe('ParkingLot', () => {
  it('wakes as many pops of a queue as claim something, oldest first, and tries one more', () => {
    const lot = new ParkingLot();
    const pops = [1, 2, 3, 4].map(() => waitingPop({ scope: { kind: 'queue', queue: 'q' } }));
    for (const pop of pops) lot.park(pop);
    expect(wake(lot, appended('q'), 2)).toEqual(pops.slice(0, 3));
    expect(lot.size).toBe(2);
    expect(wake(lot, appended('q'), 9)).toEqual(pops.slice(2));
    expect(lot.size).toBe(0);
    expect(lot.mayWake('q')).toBe(false);
  });

  it('leaves pops of other queues, groups and partitions alone', () => {
    const lot = new ParkingLot();
    lot.park(waitingPop({ scope: { kind: 'queue', queue: 'other' } }));
    lot.park(waitingPop({ scope: { kind: 'partition', queue: 'q', partition: 'x' } }));
    lot.park(waitingPop({ scope: { kind: 'queue', queue: 'q' }, group: 'h' }));
    const mine = waitingPop({ scope: { kind: 'queue', queue: 'q' }, group: 'g' });
    lot.park(mine);
    const armed = { ...appended('q', ['p']), groups: new Set(['g']) };
    expect(wake(lot, armed, 9)).toEqual([mine]);
    expect(lot.size).toBe(3);
  });

  it('serves a pop of the partition before one that takes any', () => {
    const lot = new ParkingLot();
    const any = waitingPop({ scope: { kind: 'queue', queue: 'q' } });
    const pinned = waitingPop({ scope: { kind: 'partition', queue: 'q', partition: 'p' } });
    lot.park(any);
    lot.park(pinned);
    expect(wake(lot, appended('q'), 1)).toEqual([pinned, any]);
    expect(lot.size).toBe(1);
  });

  it('tries the pops of every partition when the whole queue is named', () => {
    const lot = new ParkingLot();
    const pops = ['x', 'y'].map((partition) =>
      waitingPop({ scope: { kind: 'partition', queue: 'q', partition } }),
    );
    for (const pop of pops) lot.park(pop);
    expect(wake(lot, { ...appended('q'), partitions: () => 'all' }, 9)).toEqual(pops);
    expect(lot.size).toBe(0);
  });

  it('wakes pops by label for queues that match, and no others', () => {
    const lot = new ParkingLot();
    const matching = waitingPop({ scope: { kind: 'labels', namespace: 'sales', task: '' } });
    const foreign = waitingPop({ scope: { kind: 'labels', namespace: 'sales', task: 'sms' } });
    lot.park(foreign);
    lot.park(matching);
    expect(wake(lot, appended('any'), 9)).toEqual([matching]);
    expect(lot.size).toBe(1);
  });

  it('knows the next deadline and hands out what is over in arrival order', () => {
    const lot = new ParkingLot();
    expect(lot.nextDeadlineUs).toBe(Infinity);
    const b = waitingPop({ scope: { kind: 'queue', queue: 'b' }, deadlineUs: 20 });
    const a = waitingPop({ scope: { kind: 'labels', namespace: 'n', task: '' }, deadlineUs: 10 });
    const c = waitingPop({
      scope: { kind: 'partition', queue: 'c', partition: 'p' },
      deadlineUs: 90,
    });
    for (const pop of [b, a, c]) lot.park(pop);
    expect(lot.nextDeadlineUs).toBe(10);
    expect(lot.expire((pop) => pop.deadlineUs <= 20)).toEqual([b, a]);
    expect(lot.nextDeadlineUs).toBe(90);
    expect(lot.size).toBe(1);
  });

  it('never parks a pop that was planned already', () => {
    const lot = new ParkingLot();
    const pop = waitingPop({ scope: { kind: 'queue', queue: 'q' } });
    pop.state = 'planned';
    expect(() => lot.park(pop)).toThrow('cannot park');
  });
});
