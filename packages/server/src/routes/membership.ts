// Changes of the cluster itself (control-plane reference §9.2), from any node. What is answered as done is
// committed; everything may be asked for again.

import { BrokerError } from '@queen-ts/protocol';
import type { NodeId, NodeView } from '@queen-ts/cluster';
import { parsePlace, placeText } from '@queen-ts/cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { json } from '../http/answers.ts';
import { bodyHandler, queryOf } from '../http/control.ts';
import type { Exchange } from '../http/exchange.ts';
import { readJsonBody, readOptionalBody } from '../http/json-body.ts';
import { pathSegment } from '../http/target.ts';
import { ChangeRefused } from '../membership/change-refused.ts';
import { Changer } from '../membership/changer.ts';
import { LearnerBody, PromoteBody, TransferBody, VotersBody } from '../schemas/membership.ts';
import type { Route } from './route.ts';

const PATH = '/api/v1/system/raft/membership';
/** Position of the id in `…/membership/members/:nodeId`. */
const ID_SEGMENT = 6;
const POLL_MS = 20;
const TIMEOUT_MS_MAX = 120_000;
const TIMEOUT_MS_DEFAULT = 30_000;
/** Another member is asked for its view for as long as this. */
const VIEW_MS_MAX = 2000;
/** A member that was not heard for as many election timeouts is not live. */
const LIVE_ELECTIONS = 3;

/** The routes. */
export function membershipRoutes(edge: Edge): readonly Route[] {
  const change = (
    run: (changer: Changer, exchange: Exchange, body: Uint8Array) => Promise<void>,
  ): Route['handler'] =>
    bodyHandler(edge, (exchange, body) =>
      refusable(async () => {
        await run(changerOf(edge, exchange), exchange, body);
        return json({ ok: true, membership: await membershipOf(edge) });
      }),
    );
  return [
    {
      method: 'GET',
      path: PATH,
      handler: async () => json({ engine: 'raft', membership: await membershipOf(edge) }),
    },
    {
      method: 'POST',
      path: `${PATH}/learners`,
      handler: change((changer, _exchange, body) => {
        const { id, nodeId, raft, http } = readJsonBody(LearnerBody, body);
        const place = { raft, http };
        if (parsePlace(placeText(place)) === undefined) {
          throw new BrokerError('bad_request', 'raft and http must be host:port');
        }
        return changer.addLearner((id ?? nodeId) as NodeId, place);
      }),
    },
    {
      method: 'POST',
      path: `${PATH}/promote`,
      handler: change((changer, exchange, body) => {
        const { ids, id, force } = readJsonBody(PromoteBody, body);
        return changer.promote((ids ?? [id]) as NodeId[], isForced(exchange, force));
      }),
    },
    {
      method: 'PUT',
      path: `${PATH}/voters`,
      handler: change((changer, exchange, body) => {
        const { voters, force } = readJsonBody(VotersBody, body);
        return changer.setVoters([...new Set(voters)] as NodeId[], isForced(exchange, force));
      }),
    },
    {
      method: 'DELETE',
      path: `${PATH}/members/:nodeId`,
      handler: change((changer, exchange) => changer.remove(memberId(exchange))),
    },
    {
      method: 'POST',
      path: '/api/v1/system/raft/transfer',
      handler: bodyHandler(edge, (exchange, body) =>
        refusable(() => transfer(edge, exchange, body)),
      ),
    },
  ];
}

async function transfer(edge: Edge, exchange: Exchange, body: Uint8Array): Promise<Response> {
  const { admin, clock } = edge;
  const to = (readOptionalBody(TransferBody, body)?.to ?? 0) as NodeId | 0;
  const deadlineUs = deadlineIn(edge, timeoutMs(exchange));
  const before = await admin.leaderView(deadlineUs);
  if (to === before.nodeId) return json({ ok: true, leader: to });
  const result = await admin.transfer(to, deadlineUs);
  if (!result.ok) {
    const message = `the leadership was not handed over (${result.refusal})`;
    throw new ChangeRefused(result.refusal === 'notVoter' ? 'not_a_voter' : 'in_flight', message);
  }
  // The new leader is known here a moment later.
  for (;;) {
    const { leaderId, term } = admin.view();
    if (leaderId !== 0 && term > before.term) return json({ ok: true, leader: leaderId });
    if (clock.monotonicUs() >= deadlineUs) {
      throw new BrokerError('outcome_unknown', 'no new leader was heard of before the deadline');
    }
    await pause(POLL_MS);
  }
}

/** Runs a change; a refusal becomes a 409, a time-out a 504: it may still complete. */
async function refusable(run: () => Promise<Response>): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ChangeRefused) {
      return json({ error: error.message, code: error.code }, 409);
    }
    if (error instanceof BrokerError && error.code === 'outcome_unknown') {
      return json({ error: error.message, code: 'timeout' }, 504);
    }
    throw error;
  }
}

function changerOf(edge: Edge, exchange: Exchange): Changer {
  const { admin, clock, config } = edge;
  const { promoteLagEntriesMax } = config;
  const deadlineUs = deadlineIn(edge, timeoutMs(exchange));
  return new Changer({ admin, clock, promoteLagEntriesMax, deadlineUs });
}

function timeoutMs(exchange: Exchange): number {
  const asked = queryOf(exchange).int32('timeoutMs') ?? TIMEOUT_MS_DEFAULT;
  return Math.min(Math.max(1, asked), TIMEOUT_MS_MAX);
}

function isForced(exchange: Exchange, force: boolean | undefined): boolean {
  return force ?? queryOf(exchange).text('force') === 'true';
}

function memberId(exchange: Exchange): NodeId {
  const text = pathSegment(exchange, ID_SEGMENT);
  const id = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (id < 1 || id >= 2 ** 31) throw new BrokerError('bad_request', 'a member id is a number');
  return id as NodeId;
}

/** The leader's view; without one, what this node knows. */
async function membershipOf(edge: Edge): Promise<object> {
  const { admin, clock } = edge;
  const askedUs = clock.monotonicUs();
  const view = await admin
    .leaderView(askedUs + VIEW_MS_MAX * 1000)
    .catch((): NodeView => admin.view());
  const viewAgeMs = Math.floor((clock.monotonicUs() - askedUs) / 1000);
  return { ...showMembership(view, edge), viewAgeMs };
}

function showMembership(view: NodeView, { config, admin }: Edge): object {
  const liveWithinMs = config.electionTimeoutMs * LIVE_ELECTIONS;
  const idsOf = (role: 'voter' | 'learner'): number[] =>
    view.members.filter((member) => member.role === role).map(({ nodeId }) => nodeId);
  const isCommitted = view.membershipIndex <= view.commitIndex;
  return {
    nodeId: admin.view().nodeId,
    source: view.role === 'leader' ? 'leader' : 'follower',
    leader: view.leaderId,
    term: view.term,
    voters: idsOf('voter'),
    learners: idsOf('learner'),
    // One voter changes at a time: there is no joint membership (ADR 0002).
    joint: null,
    membershipIndex: view.membershipIndex,
    membershipCommitted: isCommitted,
    changeInFlight: !isCommitted,
    lastLogIndex: view.lastIndex,
    committedIndex: view.commitIndex,
    liveWithinMs,
    promoteMaxLag: config.promoteLagEntriesMax,
    members: view.members.map((member) => ({
      nodeId: member.nodeId,
      voter: member.role === 'voter',
      raft: member.raft,
      http: member.http,
      matched: member.matchIndex,
      lag: member.matchIndex === null ? null : Math.max(0, view.lastIndex - member.matchIndex),
      lastAckMs: member.heardAgeMs,
      live: member.heardAgeMs !== null && member.heardAgeMs <= liveWithinMs,
      identityRefused: member.isIdentityRefused,
      receivesSnapshot: member.isReceivingSnapshot,
    })),
  };
}
