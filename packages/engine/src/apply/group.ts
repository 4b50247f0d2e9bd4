// Groups of a queue: created by their first pop, registered by their first pop of the whole queue.

import { assert } from '@queen-ts/base';
import type { GroupDeleteEffect, GroupPutEffect } from '@queen-ts/protocol';
import { groupByNumber, queueByNumber } from '../invariants.ts';
import { GroupState } from '../queue-state.ts';
import { startWalk } from '../readiness.ts';
import type { State } from '../state.ts';

/** Creates a group or replaces its row. A newly registered one starts to walk its queue. */
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
  const isNew = effect.registered && !group.isRegistered;
  group.isRegistered = effect.registered;
  group.registeredUs = effect.registeredUs;
  group.mode = effect.mode;
  group.fromUs = effect.fromUs;
  group.conflation = effect.conflation;
  if (isNew) startWalk(state, group);
}

/** Removes a group that has no cursors left. */
export function applyGroupDelete(state: State, effect: GroupDeleteEffect): void {
  const group = groupByNumber(state, effect.group);
  assert(group.cursors === 0, () => `group ${effect.group} has ${group.cursors} cursors`);
  group.queue.removeGroup(group);
  state.groups.delete(effect.group);
}
