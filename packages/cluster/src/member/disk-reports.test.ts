import { membershipOf } from '@queen-ts/raft';
import type { NodeId, RaftStatus } from '@queen-ts/raft';
import { beforeEach, describe, expect, it } from 'vitest';
import { DiskGate } from '../disk-gate.ts';
import { ManualTime } from '../testing/manual-scheduler.ts';
import { DiskReports } from './disk-reports.ts';
import { CALL, decodeCall } from './peer-calls.ts';
import type { DiskCall } from './peer-calls.ts';

const [ONE, TWO, THREE, LEARNER] = [1, 2, 3, 4] as NodeId[] as [NodeId, NodeId, NodeId, NodeId];
const SECOND_US = 1_000_000;

let time: ManualTime;
let gate: DiskGate;
let leaderId: NodeId | 0;
let sent: { to: NodeId; kind: number; used: number }[];
let answer: () => Promise<Uint8Array>;
let reports: DiskReports;

beforeEach(() => {
  time = new ManualTime();
  gate = new DiskGate({ high: 0.85, low: 0.8 });
  leaderId = ONE;
  sent = [];
  answer = async () => new Uint8Array(0);
  const voter = (id: NodeId) => ({ id, role: 'voter', incarnation: 7, address: '' }) as const;
  const learner = { id: LEARNER, role: 'learner', incarnation: 7, address: '' } as const;
  const membership = membershipOf([voter(ONE), voter(TWO), voter(THREE), learner]);
  reports = new DiskReports({
    local: {
      get isLeader() {
        return leaderId === ONE;
      },
      get leaderId() {
        return leaderId;
      },
      raftStatus: { id: ONE, membership } as RaftStatus,
    },
    transport: {
      request(to, { kind, bytes }) {
        sent.push({ to, kind, used: decodeCall<DiskCall>(bytes).used });
        return answer();
      },
    },
    gate,
    clock: time,
  });
});

describe('a leader', () => {
  it('goes by the fullest disk of those voters that it hears', async () => {
    reports.tell(0.2);
    reports.heard(TWO, { used: 0.9 });
    reports.heard(THREE, { used: 0.1 });
    expect([gate.isClosed, gate.worstVoterDisk]).toEqual([true, { nodeId: TWO, used: 0.9 }]);
    reports.tell(0.2);
    expect(gate.isClosed).toBe(true);
    reports.heard(TWO, { used: 0.5 });
    expect(gate.isClosed).toBe(false);
    expect(sent).toEqual([]);
  });

  it('forgets who is silent', async () => {
    reports.heard(TWO, { used: 0.9 });
    await time.pass(8 * SECOND_US);
    reports.tell(0.2);
    expect(gate.isClosed).toBe(true);
    await time.pass(3 * SECOND_US);
    reports.tell(0.2);
    expect([gate.isClosed, gate.worstVoterDisk]).toEqual([false, { nodeId: ONE, used: 0.2 }]);
  });

  it('takes no notice of a learner: it holds no quorum up', () => {
    reports.heard(LEARNER, { used: 0.99 });
    expect(gate.isClosed).toBe(false);
  });
});

describe('another member', () => {
  it('tells the leader, and forgets what it heard when it led', () => {
    reports.heard(TWO, { used: 0.9 });
    leaderId = TWO;
    reports.tell(0.3);
    expect(sent).toEqual([{ to: TWO, kind: CALL.DISK, used: 0.3 }]);
    expect([gate.isClosed, gate.worstVoterDisk]).toEqual([false, { nodeId: ONE, used: 0.3 }]);
    reports.heard(THREE, { used: 0.9 });
    expect(gate.isClosed).toBe(false);
  });

  it('sends one report at a time, and the next one after a loss', async () => {
    leaderId = TWO;
    const { promise, reject } = Promise.withResolvers<Uint8Array>();
    answer = () => promise;
    reports.tell(0.3);
    reports.tell(0.4);
    expect(sent).toHaveLength(1);
    reject(new Error('lost'));
    await time.settle();
    reports.tell(0.5);
    expect(sent.map(({ used }) => used)).toEqual([0.3, 0.5]);
  });

  it('keeps it to itself while there is no leader', () => {
    leaderId = 0;
    reports.tell(0.3);
    expect(sent).toEqual([]);
  });
});
