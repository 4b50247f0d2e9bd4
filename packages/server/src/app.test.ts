// Health and metrics through the whole app.

import { describe, expect, test } from 'vitest';
import { loneNodeView } from './testing/fake-admin.ts';
import { testEdge } from './testing/test-edge.ts';

describe('GET /health', () => {
  test('is 200 while the node knows a leader', async () => {
    const { app } = testEdge();
    const answer = await app.request('/health');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: 'healthy',
      engine: 'raft',
      version: '0.1.0',
      raft: {
        role: 'leader',
        leader: true,
        term: 3,
        applied: 10,
        commit: 11,
        lagEntries: 1,
        quorumAgeMs: 0,
        storageReady: true,
      },
    });
  });

  test('is 503 without a leader', async () => {
    const { app, admin, broker } = testEdge();
    broker.statusFields = { role: 'preCandidate', leaderId: 0 };
    admin.view = () => ({
      ...loneNodeView(),
      role: 'preCandidate',
      leaderId: 0,
      quorumAgeMs: null,
    });
    const answer = await app.request('/health');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      status: 'settling',
      reason: 'no_leader',
      raft: { role: 'candidate', quorumAgeMs: null },
    });
    expect((await app.request('/health/live')).status).toBe(200);
  });

  test.each([
    ['quorum_lost', { quorumAgeMs: 5001 }, {}],
    ['identity_refused', { isIdentityRefused: true }, {}],
    ['apply_lag', {}, { commitIndex: 1011 }],
  ] as const)('is 503 with the reason %s', async (reason, view, status) => {
    const { app, admin, broker } = testEdge();
    admin.view = () => ({ ...loneNodeView(), ...view });
    broker.statusFields = status;
    const answer = await app.request('/health');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ reason });
  });

  test('is 200 at the edge of both bounds', async () => {
    const { app, admin, broker } = testEdge();
    admin.view = () => ({ ...loneNodeView(), quorumAgeMs: 5000 });
    broker.statusFields = { commitIndex: 1010 };
    expect((await app.request('/health')).status).toBe(200);
  });

  test('is 503 after a failure, and so is liveness', async () => {
    const { app, broker } = testEdge();
    broker.statusFields = { failure: 'the disk is gone' };
    const answer = await app.request('/health');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      raft: { role: 'stopped', leader: false, storageReady: false },
    });
    expect((await app.request('/health/live')).status).toBe(503);
  });

  test('answers HEAD without a body', async () => {
    const { app } = testEdge();
    const answer = await app.request('/health', { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('');
  });
});

describe('metrics', () => {
  test('as JSON have the shape of 2.x', async () => {
    const { app, edge } = testEdge();
    edge.counters.pushRequests = 3;
    edge.counters.popRequests = 2;
    edge.counters.pushMessages = 30;
    edge.counters.popMessages = 20;
    const body = (await (await app.request('/metrics')).json()) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual([
      'uptime',
      'requests',
      'messages',
      'memory',
      'cpu',
      'engine',
      'raft',
    ]);
    expect(body).toMatchObject({
      requests: { total: 5, rate: 0 },
      messages: { total: 50, rate: 0 },
      engine: 'raft',
      raft: { role: 'leader', term: 3 },
    });
  });

  test('for Prometheus show counters and state, each scrape anew', async () => {
    const { app, edge, broker } = testEdge();
    edge.counters.pushRequests = 3;
    edge.counters.countError('overloaded');
    const first = await app.request('/metrics/prometheus');
    expect(first.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await first.text();
    for (const line of [
      'queen_process_push_requests_total 3',
      'queen_http_refused_total{code="overloaded"} 1',
      'queen_raft_admit_total{outcome="refused"} 0',
      'queen_raft_index{kind="log"} 12',
      'queen_raft_index{kind="committed"} 11',
      'queen_raft_index{kind="applied"} 10',
      'queen_raft_is_leader 1',
      'queen_raft_proposals_total 9',
      'queen_checkpoints_total{outcome="finished"} 6',
      'queen_checkpoints_total{outcome="dropped"} 1',
      'queen_checkpoints_total{outcome="failed"} 0',
      'queen_checkpoint_bytes 7000',
      'queen_checkpoint_duration_seconds 1.5',
      'queen_checkpoint_age_seconds 30',
      'queen_checkpoint_uncovered_log_bytes 800',
      'queen_raft_log_first_index 5',
      'queen_raft_archive_purged_records_total 3',
      'queen_raft_archive_purged_bytes_total 900',
      'queen_raft_archive_reclaims_total 2',
      'queen_raft_snapshots_total{outcome="sent"} 8',
      'queen_raft_snapshots_total{outcome="failed"} 7',
      'queen_raft_snapshots_total{outcome="installed"} 1',
      'queen_raft_snapshots_sending 1',
      'queen_raft_snapshot_receiving 1',
      'queen_parked_long_polls 5',
      'queen_dlq_depth 4',
    ]) {
      expect(text).toContain(`\n${line}\n`);
    }
    edge.counters.pushRequests = 4;
    broker.statusFields = { parkedPops: 0 };
    const later = await (await app.request('/metrics/prometheus')).text();
    expect(later).toContain('\nqueen_process_push_requests_total 4\n');
    expect(later).toContain('\nqueen_parked_long_polls 0\n');
  });
});
