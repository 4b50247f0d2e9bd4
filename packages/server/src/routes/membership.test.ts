// Changes of the cluster over HTTP, against an administration that keeps its members in memory.

import type { NodeId, NodeView } from '@queen-ts/cluster';
import { describe, expect, test } from 'vitest';
import { loneNodeView } from '../testing/fake-admin.ts';
import { testEdge } from '../testing/test-edge.ts';

const PATH = '/api/v1/system/raft/membership';
const PLACE = { raft: 'queen-1:7400', http: 'queen-1:6632' };

type Member = NodeView['members'][number];
type Change = Parameters<ReturnType<typeof testEdge>['admin']['change']>[0];
type Result = Awaited<ReturnType<ReturnType<typeof testEdge>['admin']['change']>>;

function scene() {
  const { app, admin } = testEdge();
  const [own] = loneNodeView().members;
  let members: Member[] = [own!];
  const changes: Change[] = [];
  const scripted: Result[] = [];
  admin.view = () => ({ ...loneNodeView(), members });
  admin.leaderView = () => Promise.resolve(admin.view());
  admin.change = (change) => {
    changes.push(change);
    const result = scripted.shift() ?? { ok: true, index: 20, term: 3 };
    if (!result.ok) return Promise.resolve(result);
    const others = members.filter(({ nodeId }) => nodeId !== change.id);
    const known = members.find(({ nodeId }) => nodeId === change.id);
    if (change.kind === 'addLearner') {
      const [raft = '', http = ''] = change.address.split('/');
      const learner = { ...own!, nodeId: change.id, role: 'learner' as const, raft, http };
      members = [...others, learner];
    }
    if (change.kind === 'promote') members = [...others, { ...known!, role: 'voter' }];
    if (change.kind === 'remove') members = others;
    return Promise.resolve(result);
  };
  const send = async (method: string, path: string, body?: object) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const answer = await app.request(path, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const learner = (id: number, fields: Partial<Member> = {}): void => {
    const added: Member = { ...own!, ...PLACE, nodeId: id, role: 'learner', ...fields };
    members = [...members, added];
  };
  return { admin, changes, scripted, send, learner };
}

describe('the membership', () => {
  test('shows voters, learners and how far they are', async () => {
    const { send, learner } = scene();
    learner(2, { matchIndex: 7, heardAgeMs: 9000 });
    const { body } = await send('GET', PATH);
    expect(body).toMatchObject({
      engine: 'raft',
      membership: {
        source: 'leader',
        voters: [1],
        learners: [2],
        joint: null,
        membershipCommitted: true,
        members: [
          { nodeId: 1, live: true, lag: 0 },
          { nodeId: 2, matched: 7, lag: 5, lastAckMs: 9000, live: false },
        ],
      },
    });
  });

  test('is what the node knows itself when it reaches no leader', async () => {
    const { admin, send } = scene();
    admin.leaderView = () => Promise.reject(new Error('nobody'));
    admin.view = () => ({ ...loneNodeView(), role: 'follower' });
    const { status, body } = await send('GET', PATH);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { membership: { source: 'follower' } },
    });
  });
});

describe('a learner', () => {
  test('is added with its place, once', async () => {
    const { changes, send } = scene();
    const first = await send('POST', `${PATH}/learners`, { id: 2, ...PLACE });
    expect(first).toMatchObject({ status: 200, body: { ok: true, membership: { learners: [2] } } });
    const again = await send('POST', `${PATH}/learners`, { nodeId: 2, ...PLACE });
    expect(again.status).toBe(200);
    expect(changes).toEqual([{ kind: 'addLearner', id: 2, address: 'queen-1:7400/queen-1:6632' }]);
  });

  test('is refused under an id that is taken', async () => {
    const { send, learner } = scene();
    learner(2);
    const elsewhere = { id: 2, raft: 'other:7400', http: 'other:6632' };
    const moved = await send('POST', `${PATH}/learners`, elsewhere);
    expect(moved).toMatchObject({ status: 409, body: { code: 'address_mismatch' } });
    learner(3, { role: 'voter' });
    const voter = await send('POST', `${PATH}/learners`, { id: 3, ...PLACE });
    expect(voter).toMatchObject({ status: 409, body: { code: 'already_voter' } });
  });

  test.each([{ ...PLACE }, { id: 2, raft: 'x', http: 'y:1' }, { id: 0, ...PLACE }, { id: 2 }])(
    'must be described well: %j is a 400',
    async (body) => {
      const { changes, send } = scene();
      const answer = await send('POST', `${PATH}/learners`, body);
      expect(answer).toMatchObject({ status: 400, body: { code: 'bad_request' } });
      expect(changes).toEqual([]);
    },
  );
});

describe('a promotion', () => {
  test('waits for a change that is under way', async () => {
    const { changes, scripted, send, learner } = scene();
    learner(2);
    scripted.push({ ok: false, refusal: 'changeInFlight' });
    const answer = await send('POST', `${PATH}/promote`, { ids: [2] });
    expect(answer).toMatchObject({ status: 200, body: { membership: { voters: [1, 2] } } });
    expect(changes).toHaveLength(2);
  });

  test('of a voter changes nothing; of a stranger is refused', async () => {
    const { changes, send } = scene();
    expect((await send('POST', `${PATH}/promote`, { id: 1 })).status).toBe(200);
    const stranger = await send('POST', `${PATH}/promote`, { id: 9 });
    expect(stranger).toMatchObject({ status: 409, body: { code: 'not_a_member' } });
    expect(changes).toEqual([]);
  });

  test('of one that lags is refused unless forced', async () => {
    const { admin, changes, send, learner } = scene();
    learner(2, { matchIndex: 10 });
    const { view } = admin;
    admin.view = () => ({ ...view(), lastIndex: 5000 });
    const refused = await send('POST', `${PATH}/promote`, { id: 2 });
    expect(refused).toMatchObject({ status: 409, body: { code: 'learner_behind' } });
    expect(changes).toEqual([]);
    expect((await send('POST', `${PATH}/promote?force=true`, { id: 2 })).status).toBe(200);
  });
});

test('voters are replaced by promoting first and dropping the leader last', async () => {
  const { changes, send, learner } = scene();
  learner(2, { role: 'voter' });
  learner(4);
  const answer = await send('PUT', `${PATH}/voters`, { voters: [4] });
  expect(answer).toMatchObject({ status: 200, body: { membership: { voters: [4] } } });
  expect(changes.map(({ kind, id }) => [kind, Number(id)])).toEqual([
    ['promote', 4],
    ['remove', 2],
    ['remove', 1],
  ]);
});

test('a member is removed, and who is none is removed already', async () => {
  const { changes, scripted, send, learner } = scene();
  learner(2);
  expect((await send('DELETE', `${PATH}/members/2`)).status).toBe(200);
  expect((await send('DELETE', `${PATH}/members/2`)).status).toBe(200);
  expect(changes).toEqual([{ kind: 'remove', id: 2 as NodeId }]);
  scripted.push({ ok: false, refusal: 'lastVoter' });
  const last = await send('DELETE', `${PATH}/members/1`);
  expect(last).toMatchObject({ status: 409, body: { code: 'last_voter' } });
  expect((await send('DELETE', `${PATH}/members/x`)).status).toBe(400);
});
