// Groups of a queue: created by their first pop, registered by their first pop of the whole queue.

import { assert } from '@queen-ts/base';
import type { GroupDeleteEffect, GroupPutEffect } from '@queen-ts/protocol';
import { groupByNumber, queueByNumber } from '../invariants.ts';
import { GroupState } from '../queue-state.ts';
import { startWalk } from '../readiness.ts';
import type { State } from '../state.ts';

/** Creates a group or replaces its row. A newly registered one, or one
 * that starts elsewhere, looks at its whole queue. */
export function applyGroupPut(state: State, effect: GroupPutEffect): void {
  const queue = queueByNumber(state, effect.queue);
  let group = state.groups.get(effect.group);
  if (group === undefined) {
    assert(effect.group === state.nextGroup, () => `group ${effect.group}, not ${state.nextGroup}`);
    assert(queue.groupByName(effect.name) === undefined, () => `group ${effect.group} twice`);
    state.nextGroup += 1;
    group = new GroupState({ number: effect.group, queue, name: effect.name });
    state.groups.set(effect.group, group);
    queue.addGroup(group);
  }
  assert(group.queue === queue && group.name === effect.name, () => `group ${effect.group}`);
  const isOtherStart = effect.mode !== group.mode || effect.fromUs !== group.fromUs;
  const isWalking = effect.registered && (!group.isRegistered || isOtherStart);
  group.isRegistered = effect.registered;
  group.registeredUs = effect.registeredUs;
  group.mode = effect.mode;
  group.fromUs = effect.fromUs;
  group.conflation = effect.conflation;
  if (!effect.registered) group.ready.clear();
  if (isWalking) startWalk(state, group);
}

/** Removes a group that has no cursors and no dead letters left. */
export function applyGroupDelete(state: State, effect: GroupDeleteEffect): void {
  const group = groupByNumber(state, effect.group);
  assert(
    group.cursors === 0 && group.deadLetters === 0,
    () => `group ${effect.group} has ${group.cursors} cursors, ${group.deadLetters} dead letters`,
  );
  group.queue.removeGroup(group);
  state.groups.delete(effect.group);
}
