// The node and the whole cluster: maintenance, health, metrics, and this document.

import { Health, Liveness, MetricsSummary, OpenApi } from '../../schemas/health.ts';
import {
  MaintenanceAnswer,
  MaintenanceBody,
  PopMaintenanceAnswer,
} from '../../schemas/maintenance.ts';
import { READ_ERRORS, WRITE_ERRORS } from '../operation.ts';
import type { AnswerShape, Operation } from '../operation.ts';

const PUSH_PATH = '/api/v1/system/maintenance';
const POP_PATH = '/api/v1/system/maintenance/pop';

const RAFT = {
  role: 'leader',
  leader: true,
  term: 3,
  applied: 120,
  commit: 120,
  lagEntries: 0,
  quorumAgeMs: 40,
  storageReady: true,
};

const FLAGS: AnswerShape = {
  description: 'Both flags.',
  schema: MaintenanceAnswer,
  example: {
    maintenanceMode: false,
    popMaintenanceMode: false,
    bufferedMessages: 0,
    bufferHealthy: true,
  },
};

const POP_FLAG: AnswerShape = {
  description: 'The flag.',
  schema: PopMaintenanceAnswer,
  example: { popMaintenanceMode: false, message: 'pops deliver' },
};

const SHOW = { method: 'get', section: 'Maintenance', errors: READ_ERRORS } as const;

const CHANGE = {
  method: 'post',
  takesIdempotencyKey: true,
  section: 'Maintenance',
  body: {
    schema: MaintenanceBody,
    isRequired: true,
    examples: { pause: { enabled: true }, resume: { enabled: false } },
  },
  errors: WRITE_ERRORS,
} as const satisfies Partial<Operation>;

const MAINTENANCE: readonly Operation[] = [
  {
    ...SHOW,
    path: PUSH_PATH,
    id: 'showMaintenance',
    summary: 'Shows which requests the cluster pauses.',
    answers: { 200: FLAGS },
  },
  {
    ...CHANGE,
    path: PUSH_PATH,
    id: 'changeMaintenance',
    summary: 'Pauses or resumes pushes of the whole cluster.',
    description: 'While they are paused, a push is answered 503 `maintenance`.',
    answers: { 200: FLAGS },
  },
  {
    ...SHOW,
    path: POP_PATH,
    id: 'showPopMaintenance',
    summary: 'Shows whether the cluster pauses pops.',
    answers: { 200: POP_FLAG },
  },
  {
    ...CHANGE,
    path: POP_PATH,
    id: 'changePopMaintenance',
    summary: 'Pauses or resumes pops of the whole cluster.',
    description: 'While they are paused, a pop is a 204 with `Queen-Pop-Reason: paused`.',
    answers: { 200: POP_FLAG },
  },
];

const NODE: readonly Operation[] = [
  {
    method: 'get',
    path: '/health',
    id: 'health',
    section: 'Node',
    summary: 'Says whether this node can serve.',
    answers: {
      200: {
        description: 'It can.',
        schema: Health,
        example: { status: 'healthy', engine: 'raft', version: '0.1.0', raft: RAFT },
      },
      503: {
        description: 'It is not ready; `reason` says why.',
        schema: Health,
      },
    },
    errors: [],
  },
  {
    method: 'get',
    path: '/health/live',
    id: 'live',
    section: 'Node',
    summary: 'Says whether this process should go on running.',
    answers: {
      200: { description: 'It should.', schema: Liveness, example: { status: 'alive' } },
      503: { description: 'It has failed.', schema: Liveness },
    },
    errors: [],
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'metrics',
    section: 'Node',
    summary: 'Sums up this node’s work.',
    answers: {
      200: {
        description: 'The summary.',
        schema: MetricsSummary,
        example: {
          uptime: 3600,
          requests: { total: 1000, rate: 0 },
          messages: { total: 5000, rate: 0 },
          memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1, arrayBuffers: 1 },
          cpu: { user: 1_000_000, system: 200_000 },
          engine: 'raft',
          raft: RAFT,
        },
      },
    },
    errors: [],
  },
  {
    method: 'get',
    path: '/metrics/prometheus',
    id: 'prometheus',
    section: 'Node',
    summary: 'Shows this node’s metrics to Prometheus.',
    answers: {
      200: {
        description: 'The text format, version 0.0.4.',
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        example: 'queen_raft_is_leader 1\n',
      },
    },
    errors: [],
  },
  {
    method: 'get',
    path: '/api/v1/openapi.json',
    id: 'openapi',
    section: 'Node',
    summary: 'Describes this interface in OpenAPI 3.1.',
    answers: {
      200: {
        description: 'The document.',
        schema: OpenApi,
      },
    },
    errors: [],
  },
  {
    method: 'get',
    path: '/docs',
    id: 'docs',
    section: 'Node',
    summary: 'Shows the same document to people.',
    answers: {
      200: { description: 'A page that loads nothing.', contentType: 'text/html; charset=utf-8' },
    },
    errors: [],
  },
];

/** The operations. */
export const NODE_OPERATIONS: readonly Operation[] = [...MAINTENANCE, ...NODE];
