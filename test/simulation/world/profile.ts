// What a seed's world is like. Each seed draws its own mixture of sizes, limits, speeds and faults
// (swarm testing): runs where something never happens find what runs with everything never reach.

import { BROKER_LIMITS_DEFAULT, LOG_LIMITS_DEFAULT } from '@queen-ts/cluster';
import type { BrokerLimits, LogLimits } from '@queen-ts/cluster';
import { Dice } from './dice.ts';

/** What the operator can do to the members. */
export const MEMBER_FAULT_KINDS = [
  'addMember',
  'promote',
  'demote',
  'removeMember',
  'removeLeader',
  'transfer',
  'overlappingChanges',
  'wrongChange',
] as const;
export type MemberFaultKind = (typeof MEMBER_FAULT_KINDS)[number];

/** What the nemesis can do. */
export const FAULT_KINDS = [
  'isolate',
  'deafen',
  'mute',
  'split',
  'bridge',
  'ring',
  'crash',
  'crashLeader',
  'crashTransfer',
  'powerCut',
  'pause',
  'pauseAndCut',
  'slowDisk',
  'writeError',
  'diskFull',
  'bitFlip',
  'checkpointFlip',
  'wipe',
  'wallJump',
  ...MEMBER_FAULT_KINDS,
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** How messages travel. */
export interface NetworkProfile {
  readonly latencyUs: number;
  readonly jitterUs: number;
  readonly dropRate: number;
  readonly duplicateRate: number;
  /** Share of messages that take up to `stragglerUs` longer, and so overtake each other. */
  readonly stragglerRate: number;
  readonly stragglerUs: number;
}

/** How disks behave. */
export interface DiskProfile {
  readonly syncUs: number;
  readonly jitterUs: number;
  /** Chance that a process dies during a write, and right after it, before it learns of its end. */
  readonly crashRate: number;
}

/** What clients do. */
export interface WorkloadProfile {
  readonly clients: number;
  /** Clients on top of these that only look for messages, each time at any node. */
  readonly readers: number;
  /** Mean pause between two requests of one client. */
  readonly thinkUs: number;
  /** How often clients push and pop, in relation to each other. */
  readonly pushWeight: number;
  readonly popWeight: number;
  /** How long requests may take, in election timeouts. */
  readonly patience: readonly number[];
  /** Share of requests that are handled although their client gave up before a node read them. */
  readonly lateRate: number;
  /** Share of pops that wait for messages. */
  readonly waitRate: number;
  /** Share of requests that go to any node instead of the one that answered last. */
  readonly strayRate: number;
  readonly queues: number;
  readonly partitions: number;
  /** Share of requests about a queue that is deleted now and then. */
  readonly scratchRate: number;
  /** Share of acks that come with a push, as a transaction. */
  readonly transactionRate: number;
  /** Share of pops that ask for one partition. */
  readonly pinnedRate: number;
  readonly groups: number;
  readonly pushItemsMax: number;
  readonly popBatchMax: number;
  readonly payloadBytesMax: number;
  /** Share of pushes with ids of the client's, and of those that repeat an old one. */
  readonly ownIdRate: number;
  readonly repeatRate: number;
  readonly leaseSecondsMax: number;
  /** Share of claims that are never acked. */
  readonly abandonRate: number;
}

/** Everything that a run depends on besides its luck. */
export interface Profile {
  /** How many found the cluster. */
  readonly nodes: number;
  /** How many more may join it. */
  readonly spares: number;
  readonly electionMs: number;
  readonly heartbeatMs: number;
  readonly network: NetworkProfile;
  readonly disk: DiskProfile;
  readonly workload: WorkloadProfile;
  readonly limits: BrokerLimits;
  readonly logLimits: LogLimits;
  /** Drift of the nodes' clocks, at most, in parts per million; skew of their wall clocks. */
  readonly driftPpm: number;
  readonly skewUs: number;
  /** Whether the faults wait until the cluster has been founded. */
  readonly foundsInPeace: boolean;
  readonly safetyUs: number;
  /** Mean time between faults. */
  readonly faultEveryUs: number;
  readonly faultWeights: readonly (readonly [FaultKind, number])[];
  /** Longest time until a stopped node is started again. */
  readonly restartUsMax: number;
}

const PROFILE_STREAM = 1;

/** The profile of a seed. */
export function profileOf(seed: number): Profile {
  const dice = new Dice(seed, PROFILE_STREAM);
  const profile = anyProfile(dice);
  // What needs several unlikely things at once gets seeds of its own.
  const theme = dice.weighted([
    ['any', 7],
    ['elections', 1],
    ['readers', 1],
    ['clocks', 1],
    ['members', 2],
  ] as const);
  switch (theme) {
    case 'clocks':
      return withClocks(profile);
    case 'members':
      return withMembers(profile, dice);
    case 'elections':
      return withElections(profile);
    case 'readers':
      return withReaders(profile);
    default:
      return profile;
  }
}

function anyProfile(dice: Dice): Profile {
  const heartbeatMs = dice.pick([50, 100, 100]);
  const electionMs = heartbeatMs * dice.pick([2, 2, 3, 5, 10]);
  const latencyUs = dice.pick([100, 300, 1_000, 5_000]);
  return {
    nodes: dice.chance(0.3) ? 5 : 3,
    spares: dice.pick([0, 1, 1, 2]),
    electionMs,
    heartbeatMs,
    network: {
      latencyUs,
      jitterUs: dice.pick([0, latencyUs, 4 * latencyUs]),
      dropRate: dice.pick([0, 0, 0.01, 0.05, 0.15]),
      duplicateRate: dice.pick([0, 0.02, 0.1]),
      stragglerRate: dice.pick([0, 0.02, 0.1, 0.3]),
      stragglerUs: dice.pick([20_000, 2 * electionMs * 1000, 5 * electionMs * 1000]),
    },
    disk: {
      syncUs: dice.pick([50, 300, 2_000, 10_000]),
      jitterUs: dice.pick([50, 1_000, 20_000]),
      crashRate: dice.pick([0, 0, 0.005, 0.03]),
    },
    workload: workloadOf(dice),
    limits: limitsOf(dice),
    logLimits: logLimitsOf(dice),
    driftPpm: dice.pick([0, 100, 10_000]),
    skewUs: dice.pick([0, 50_000]),
    foundsInPeace: !dice.chance(0.1),
    safetyUs: electionMs * 1000 * dice.between(8, 20),
    faultEveryUs: electionMs * 1000 * dice.pick([0.5, 1, 2, 4]),
    faultWeights: faultWeightsOf(dice),
    restartUsMax: electionMs * 1000 * dice.pick([0.02, 0.3, 2]),
  };
}

/** Elections all the time, votes that arrive late, voters that die as they vote and are back at once. */
function withElections(profile: Profile): Profile {
  const { heartbeatMs, network, disk } = profile;
  const electionMs = 2 * heartbeatMs;
  return {
    ...profile,
    electionMs,
    network: { ...network, stragglerRate: 0.3, stragglerUs: 4 * electionMs * 1000 },
    disk: { ...disk, crashRate: 0.05 },
    faultWeights: [
      ['crashLeader', 2],
      ['powerCut', 1],
      ['isolate', 1],
    ],
    faultEveryUs: electionMs * 1000,
    safetyUs: 40 * electionMs * 1000,
    restartUsMax: 3_000,
  };
}

/** Many look for messages, also at leaders that slept while another took over. */
function withReaders(profile: Profile): Profile {
  const { heartbeatMs, workload, network } = profile;
  const electionMs = 5 * heartbeatMs;
  return {
    ...profile,
    electionMs,
    network: { ...network, dropRate: 0 },
    workload: {
      ...workload,
      clients: 2,
      readers: 4,
      thinkUs: 30_000,
      pushWeight: 4,
      popWeight: 1,
      patience: [0.2],
      lateRate: 0,
      strayRate: 0,
      queues: 1,
      // So many that a reader rarely finds one that the sleeper knew of: a claim would say nothing.
      partitions: 100,
      scratchRate: 0,
      pinnedRate: 1,
    },
    faultWeights: [['pauseAndCut', 1]],
    faultEveryUs: 5 * electionMs * 1000,
    safetyUs: 20 * electionMs * 1000,
  };
}

/** Wall clocks jump and leaders change, but nobody has to start anew and forget the time. */
function withClocks(profile: Profile): Profile {
  const { electionMs, workload, disk } = profile;
  return {
    ...profile,
    foundsInPeace: true,
    disk: { ...disk, crashRate: 0 },
    workload: { ...workload, popWeight: 6, leaseSecondsMax: 3, partitions: 2, abandonRate: 0.6 },
    faultWeights: [
      ['wallJump', 2],
      ['isolate', 1],
      ['pauseAndCut', 1],
    ],
    faultEveryUs: electionMs * 1000,
    safetyUs: Math.max(5_000_000, profile.safetyUs),
  };
}

/** Members come and go, while leaders fall and links break. */
function withMembers(profile: Profile, dice: Dice): Profile {
  const { electionMs } = profile;
  return {
    ...profile,
    spares: dice.between(1, 2),
    faultWeights: [
      ['addMember', 2],
      ['promote', 4],
      ['demote', 2],
      ['removeMember', 1],
      ['removeLeader', 0.5],
      ['transfer', dice.pick([0, 1])],
      ['overlappingChanges', 1],
      ['wrongChange', 0.5],
      ['isolate', dice.pick([0, 1])],
      ['split', dice.pick([0, 1])],
      ['crash', dice.pick([0, 1])],
      ['crashLeader', 1],
      ['crashTransfer', dice.pick([0, 2])],
      ['wipe', dice.pick([0, 0.5])],
    ],
    faultEveryUs: electionMs * 1000 * dice.pick([0.2, 0.5]),
    safetyUs: 20 * electionMs * 1000,
  };
}

function workloadOf(dice: Dice): WorkloadProfile {
  return {
    clients: dice.between(1, 6),
    readers: dice.pick([0, 0, 1]),
    thinkUs: dice.pick([10_000, 40_000, 100_000]),
    pushWeight: dice.pick([1, 4]),
    popWeight: dice.pick([1, 3, 6]),
    patience: dice.pick([[0.5, 1, 4], [0.2, 0.5], [3]]),
    lateRate: dice.pick([0, 0.5, 1]),
    waitRate: dice.pick([0, 0.3, 0.8]),
    strayRate: dice.pick([0, 0.05, 0.3]),
    queues: dice.between(1, 2),
    partitions: dice.pick([1, 3, 10]),
    scratchRate: dice.pick([0, 0, 0.1]),
    transactionRate: dice.pick([0, 0.3]),
    pinnedRate: dice.pick([0.1, 0.3, 0.9]),
    groups: dice.between(1, 2),
    pushItemsMax: dice.pick([1, 3, 8]),
    popBatchMax: dice.pick([1, 4, 20]),
    payloadBytesMax: dice.pick([0, 50, 400]),
    ownIdRate: dice.pick([0.3, 0.7, 1]),
    repeatRate: dice.pick([0, 0.2, 0.5]),
    leaseSecondsMax: dice.between(1, 3),
    abandonRate: dice.pick([0, 0.1, 0.4]),
  };
}

function limitsOf(dice: Dice): BrokerLimits {
  return {
    ...BROKER_LIMITS_DEFAULT,
    queuedCommandsMax: dice.pick([2, 64, 16_384]),
    queuedBytesMax: dice.pick([500, 1_000_000]),
    cycleCommandsMax: dice.pick([1, 3, 4096]),
    cycleBytesMax: dice.pick([1, 400, 1024 * 1024]),
    entriesInFlightMax: dice.pick([1, 2, 8]),
    appendBytesMax: dice.pick([1, 300, 1024 * 1024]),
    appendInFlightBytesMax: dice.pick([1, 1_000, 8 * 1024 * 1024]),
    retentionIntervalUs: dice.pick([200_000, 5_000_000]),
    parkedPopsMax: dice.pick([1, 3, 100_000]),
    checkpointLogBytesMin: dice.pick([1, 500, 1_500, 10_000]),
  };
}

/** Mostly the log is cut as soon as it may be, so that whoever was away needs a snapshot. */
function logLimitsOf(dice: Dice): LogLimits {
  if (dice.chance(0.25)) return LOG_LIMITS_DEFAULT;
  return {
    ...LOG_LIMITS_DEFAULT,
    holdUs: dice.pick([0, 200_000]),
    holdBytesMax: dice.pick([1, 2_000]),
    trailBytesMin: dice.pick([0, 1_000]),
    startMoveUs: dice.pick([5_000, 50_000]),
    sweepPauseUs: dice.pick([20_000, 200_000]),
    sweepRecordsMax: dice.pick([1, 8, 1_000]),
    purgeRecordsMax: dice.pick([1, 4]),
    reclaimBytesMin: 1_000,
    pieceUs: 100_000,
    finishUs: 200_000,
    retryUs: 20_000,
    giveUpUs: 1_000_000,
    receiveIdleUs: 2_000_000,
    receiveCallsMax: dice.pick([1, 8]),
  };
}

/** Some kinds are left out, the others get weights of their own. */
function faultWeightsOf(dice: Dice): readonly (readonly [FaultKind, number])[] {
  const weights = FAULT_KINDS.map((kind) => {
    const weight = dice.chance(0.5) ? 0 : dice.pick([1, 1, 4]);
    const isRare = kind === 'wipe' || kind === 'bitFlip';
    return [kind, isRare ? weight / 4 : weight] as const;
  });
  return weights.some(([, weight]) => weight > 0) ? weights : [['crash', 1]];
}
