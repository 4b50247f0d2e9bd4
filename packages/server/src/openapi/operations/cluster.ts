// The cluster itself: its members and who leads.

import {
  ChangedMembership,
  ChangeRefusal,
  LearnerBody,
  MembershipAnswer,
  PromoteBody,
  RaftLivenessAnswer,
  RaftMembersAnswer,
  RaftStatusAnswer,
  TransferAnswer,
  TransferBody,
  VotersBody,
} from '../../schemas/membership.ts';
import { BAD_QUERY, READ_ERRORS, WRITE_ERRORS } from '../operation.ts';
import type { AnswerShape, Operation, QueryParameter } from '../operation.ts';

const PATH = '/api/v1/system/raft/membership';

const TIMEOUT: QueryParameter = {
  name: 'timeoutMs',
  description: 'How long to wait for the change to be committed.',
  schema: { type: 'integer', minimum: 1, maximum: 120_000, default: 30_000 },
};

const FORCE: QueryParameter = {
  name: 'force',
  description: 'Do not look at the lag of learners.',
  schema: { type: 'boolean', default: false },
};

const MEMBERSHIP = {
  nodeId: 1,
  source: 'leader',
  viewAgeMs: 1,
  leader: 1,
  term: 3,
  voters: [1],
  learners: [],
  joint: null,
  membershipIndex: 1,
  membershipCommitted: true,
  changeInFlight: false,
  lastLogIndex: 120,
  committedIndex: 120,
  liveWithinMs: 3000,
  promoteMaxLag: 1000,
  members: [
    {
      nodeId: 1,
      voter: true,
      raft: 'queen-0:7400',
      http: 'queen-0:6632',
      matched: 120,
      lag: 0,
      lastAckMs: 0,
      live: true,
      identityRefused: false,
      receivesSnapshot: false,
    },
  ],
};

const NODE = {
  nodeId: 1,
  hostname: 'queen-0',
  raftAddr: 'queen-0:7400',
  httpAddr: 'queen-0:6632',
  role: 'voter',
  state: 'leader',
  local: true,
  reachable: true,
  leaderId: 1,
  term: 3,
  firstLogIndex: 1,
  lastLogIndex: 120,
  committedIndex: 120,
  appliedIndex: 120,
  durableIndex: 120,
  quorumAgeMs: 0,
  identityRefused: false,
  version: '0.1.0',
  uptimeSeconds: 60,
  error: null,
};

const CHANGED: AnswerShape = {
  description: 'Committed, or so already.',
  schema: ChangedMembership,
  example: { ok: true, membership: MEMBERSHIP },
};

const REFUSED: AnswerShape = {
  description: 'Refused; `code` says why. Steps that went before are done.',
  schema: ChangeRefusal,
  example: { error: 'node 4: the learner has not caught up', code: 'learner_behind' },
};

const LATE: AnswerShape = {
  description: 'Not committed in time; it may still be.',
  schema: ChangeRefusal,
  example: { error: 'the outcome is unknown: the leader changed', code: 'timeout' },
};

const CHANGE = {
  section: 'Cluster',
  answers: { 200: CHANGED, 400: BAD_QUERY, 409: REFUSED, 504: LATE },
  errors: WRITE_ERRORS,
} as const satisfies Partial<Operation>;

const VIEW = { method: 'get', section: 'Cluster', errors: READ_ERRORS } as const;

/** The operations. */
export const CLUSTER_OPERATIONS: readonly Operation[] = [
  {
    ...VIEW,
    path: PATH,
    id: 'showMembership',
    summary: 'Shows the members as the leader sees them.',
    answers: {
      200: {
        description: 'The members; of a node that reaches no leader, what it knows itself.',
        schema: MembershipAnswer,
        example: { engine: 'raft', membership: MEMBERSHIP },
      },
    },
  },
  {
    ...CHANGE,
    method: 'post',
    path: `${PATH}/learners`,
    id: 'addLearner',
    summary: 'Adds a node that replicates and does not vote yet.',
    query: [TIMEOUT],
    body: {
      schema: LearnerBody,
      isRequired: true,
      examples: { 'a fourth node': { id: 4, raft: 'queen-3:7400', http: 'queen-3:6632' } },
    },
  },
  {
    ...CHANGE,
    method: 'post',
    path: `${PATH}/promote`,
    id: 'promote',
    summary: 'Makes learners that have caught up voters.',
    query: [TIMEOUT, FORCE],
    body: { schema: PromoteBody, isRequired: true, examples: { one: { ids: [4] } } },
  },
  {
    ...CHANGE,
    method: 'put',
    path: `${PATH}/voters`,
    id: 'setVoters',
    summary: 'Makes exactly these members the voters: promotes learners, then drops the others.',
    query: [TIMEOUT, FORCE],
    body: { schema: VotersBody, isRequired: true, examples: { replace: { voters: [1, 2, 4] } } },
  },
  {
    ...CHANGE,
    method: 'delete',
    path: `${PATH}/members/{nodeId}`,
    id: 'removeMember',
    summary: 'Drops a member.',
    query: [TIMEOUT],
  },
  {
    ...CHANGE,
    method: 'post',
    path: '/api/v1/system/raft/transfer',
    id: 'transferLeadership',
    summary: 'Hands the leadership over.',
    query: [TIMEOUT],
    body: { schema: TransferBody, isRequired: false, examples: { 'to node 2': { to: 2 } } },
    answers: {
      ...CHANGE.answers,
      200: {
        description: 'Who leads now.',
        schema: TransferAnswer,
        example: { ok: true, leader: 2 },
      },
    },
  },
  {
    ...VIEW,
    path: '/api/v1/raft/status',
    id: 'raftStatus',
    summary: 'Shows what this node knows of itself and its cluster.',
    answers: {
      200: {
        description: 'The status.',
        schema: RaftStatusAnswer,
        example: {
          ...NODE,
          replication: [],
          engine: 'raft',
          clusterId: '01936f5d-0a11-7f3e-b2c4-9e8d7c6b5a03',
          self: 1,
          voters: 1,
          singleNode: true,
        },
      },
    },
  },
  {
    ...VIEW,
    path: '/api/v1/raft/members',
    id: 'raftMembers',
    summary: 'Asks every member for its status.',
    answers: {
      200: {
        description: 'All members, those that did not answer included.',
        schema: RaftMembersAnswer,
        example: {
          engine: 'raft',
          clusterId: '01936f5d-0a11-7f3e-b2c4-9e8d7c6b5a03',
          leaderId: 1,
          term: 3,
          self: 1,
          voters: 1,
          members: [{ ...NODE, matchIndex: 120, heartbeatAgeMs: 0, lagEntries: 0 }],
        },
      },
    },
  },
  {
    ...VIEW,
    path: '/api/v1/raft/liveness',
    id: 'raftLiveness',
    summary: 'Shows who was heard when, as this node knows it.',
    answers: {
      200: {
        description: 'The members.',
        schema: RaftLivenessAnswer,
        example: {
          engine: 'raft',
          nodeId: 1,
          leaderId: 1,
          term: 3,
          viewAgeMs: 0,
          viewLeaderId: 1,
          members: [
            {
              nodeId: 1,
              role: 'voter',
              state: 'leader',
              http: 'queen-0:6632',
              raft: 'queen-0:7400',
              lastAckMs: 0,
              matchIndex: 120,
              local: true,
            },
          ],
        },
      },
    },
  },
];
