// §14 of the reference: labels and discovery.

import { expect } from 'vitest';
import { rule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectKeys, payloads } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';

async function discover(scene: Scene, query: Json): Promise<unknown[]> {
  return payloads(await scene.client.discover(query));
}

/** Pushes one message to `<own>.a` and `<own>.b`; the payload is the task. */
async function twoTasks(scene: Scene): Promise<void> {
  for (const task of ['a', 'b']) await scene.push([task], { queue: `${scene.queue}.${task}` });
}

const derived: readonly Rule[] = (
  [
    ['', '', ''],
    ['.one', '', 'one'],
    ['.one.two', '', 'one'],
    ['.one.two.three', '', 'one'],
    ['.', '', ''],
  ] as const
).map(([suffix, , task]) =>
  rule(`§14 a queue pushed as <name>${suffix} has task "${task}"`, async (scene) => {
    const queue = `${scene.queue}${suffix}`;
    await scene.fill(1, { queue });
    expect(await scene.client.queueRow(queue)).toMatchObject({ namespace: scene.queue, task });
  }),
);

const labels: readonly Rule[] = [
  rule('§14 a queue that a pop created has derived labels', async (scene) => {
    const queue = `${scene.queue}.t`;
    await scene.client.pop(queue);
    expect(await scene.client.queueRow(queue)).toMatchObject({ namespace: scene.queue, task: 't' });
  }),
  rule('§14 a configured queue has the labels that were sent', async (scene) => {
    const queue = `${scene.queue}.t`;
    await scene.post('/configure', { queue, options: {}, namespace: 'other' });
    expect(await scene.client.queueRow(queue)).toMatchObject({ namespace: 'other', task: '' });
  }),
  rule('§14 merging keeps derived labels', async (scene) => {
    await scene.fill(1);
    await scene.configure({ leaseTime: 5 });
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({ namespace: scene.queue });
  }),
  rule('§14 replacing without labels wipes them', async (scene) => {
    await scene.fill(1);
    await scene.configure({}, { mode: 'replace' });
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({ namespace: '' });
  }),
  rule('§14 namespaces roll up queues, partitions and messages', async (scene) => {
    await twoTasks(scene);
    const { namespaces } = await scene.get<{ namespaces: Json[] }>('/resources/namespaces');
    const row = namespaces.find(({ namespace }) => namespace === scene.queue);
    expectKeys(row, 'namespace queues partitions messages');
    expectKeys(row?.['messages'], 'total pending');
    expect(row).toMatchObject({ queues: 2, partitions: 2, messages: { total: 2, pending: 2 } });
  }),
  rule('§14 tasks roll up queues', async (scene) => {
    const task = scene.name('task');
    await scene.fill(1, { queue: `${scene.queue}.${task}` });
    const { tasks } = await scene.get<{ tasks: Json[] }>('/resources/tasks');
    const row = tasks.find((candidate) => candidate['task'] === task);
    expectKeys(row, 'task queues partitions messages');
    expect(row).toMatchObject({ queues: 1, partitions: 1 });
  }),
  rule('§14 empty labels are in no roll-up', async (scene) => {
    await scene.configure({});
    const { namespaces } = await scene.get<{ namespaces: Json[] }>('/resources/namespaces');
    const { tasks } = await scene.get<{ tasks: Json[] }>('/resources/tasks');
    expect(namespaces.filter(({ namespace }) => namespace === '')).toEqual([]);
    expect(tasks.filter(({ task }) => task === '')).toEqual([]);
  }),
];

const discovery: readonly Rule[] = [
  rule('§14 discovery matches the namespace exactly', async (scene) => {
    await twoTasks(scene);
    expect(await discover(scene, { namespace: scene.queue.slice(0, -1) })).toEqual([]);
    const found = await discover(scene, { namespace: scene.queue, partitions: 5 });
    expect(new Set(found)).toEqual(new Set(['a', 'b']));
  }),
  rule('§14 discovery matches the task exactly', async (scene) => {
    await twoTasks(scene);
    expect(await discover(scene, { namespace: scene.queue, task: 'b' })).toEqual(['b']);
  }),
  rule('§14 discovery by task alone', async (scene) => {
    const task = scene.name('task');
    await scene.push([1], { queue: `${scene.queue}.${task}` });
    expect(await discover(scene, { task })).toEqual([1]);
  }),
  rule('§14 an empty filter does not filter', async (scene) => {
    await twoTasks(scene);
    const found = await discover(scene, { namespace: scene.queue, task: '', partitions: 2 });
    expect(found).toHaveLength(2);
  }),
  rule('§14 unlabelled queues never match', async (scene) => {
    await scene.configure({ task: scene.queue });
    await scene.fill(1);
    expect(await discover(scene, { namespace: scene.queue })).toEqual([]);
  }),
  rule('§14 batch and partitions are shared over all queues', async (scene) => {
    await twoTasks(scene);
    expect(await discover(scene, { namespace: scene.queue, partitions: 1 })).toHaveLength(1);
    expect(await discover(scene, { namespace: scene.queue, partitions: 5 })).toHaveLength(1);
  }),
  rule('§14 batch bounds a discovery over all queues', async (scene) => {
    await twoTasks(scene);
    const found = await discover(scene, { namespace: scene.queue, partitions: 5, batch: 1 });
    expect(found).toHaveLength(1);
  }),
  rule('§14 one lease id covers all queues of a discovery', async (scene) => {
    await twoTasks(scene);
    const batch = await scene.client.discover({ namespace: scene.queue, partitions: 5 });
    expect(batch?.partitionsClaimed).toBe(2);
    expect(await scene.client.extend(batch?.leaseId ?? '')).toMatchObject({ renewed: 2 });
  }),
  rule('§14 what a discovery delivered can be acked by partition id', async (scene) => {
    await twoTasks(scene);
    const batch = await scene.client.discover({ namespace: scene.queue, partitions: 5 });
    if (batch === undefined) throw new Error('nothing was discovered');
    expect(await scene.ackAll(batch)).toMatchObject([{ success: true }, { success: true }]);
    expect(await discover(scene, { namespace: scene.queue })).toEqual([]);
  }),
  rule("§14 the lease of a discovery is the queue's own", async (scene) => {
    await scene.configure({ leaseTime: 200, namespace: scene.queue });
    await scene.fill(1);
    const batch = await scene.client.discover({ namespace: scene.queue });
    const { newExpiresAt } = await scene.client.extend(batch?.leaseId ?? '', 1);
    const seconds = (Date.parse(newExpiresAt ?? '') - Date.now()) / 1000;
    expect(Math.abs(seconds - 200)).toBeLessThan(20);
  }),
  rule('§14 a relabelled queue is found by its new label only', async (scene) => {
    await scene.fill(1);
    const namespace = scene.name('moved');
    await scene.configure({ namespace });
    expect(await discover(scene, { namespace: scene.queue })).toEqual([]);
    expect(await discover(scene, { namespace })).toEqual([0]);
  }),
];

/** §14. */
export const LABELS: Section = {
  title: '14 labels',
  rules: [...derived, ...labels, ...discovery],
};
