// I4 as linearizability: the lease of one partition and group is a register that is free or held by one
// lease. A claim needs it free, an empty pop that says «leased» needs it held, a release needs it held by
// its own lease. Is there an order of all operations, each between its start and its end, that
// allows every answer? The search is that of Wing and Gong with the memory of Lowe.

import type { Interval, Outcome } from '../history/records.ts';
import { Findings } from '../history/verdict.ts';
import type { Verdict } from '../history/verdict.ts';

/** A claim; `lease` is undefined when the answer was that somebody else holds it. */
export interface ClaimOperation extends Interval {
  readonly kind: 'claim';
  readonly outcome: Outcome<{ readonly lease: string | undefined }>;
}

/** A release of a lease; the value says whether the broker accepted it. */
export interface ReleaseOperation extends Interval {
  readonly kind: 'release';
  readonly lease: string;
  readonly outcome: Outcome<boolean>;
}

export type RegisterOperation = ClaimOperation | ReleaseOperation;

/** States that the search may visit for one register, before it gives up as UNKNOWN. */
const STATES_MAX = 1_000_000;

const FREE = '';
/** Held by a claim whose answer was lost: the broker takes it back whenever it notices. */
const LOST = '?';

interface Step {
  readonly operation: RegisterOperation;
  readonly startUs: number;
  /** Infinity where the effect may come at any later time, or never. */
  readonly endUs: number;
}

/** Judges the histories of several registers, by name. */
export function checkClaimRegisters(
  registers: ReadonlyMap<string, readonly RegisterOperation[]>,
): Verdict {
  const findings = new Findings();
  let contested = 0;
  const undecided: string[] = [];
  for (const [name, operations] of registers) {
    const answered = operations.filter(({ outcome }) => outcome.kind === 'ok').length;
    if (answered > 1) contested += 1;
    const isLinear = isLinearizable(operations);
    if (isLinear === undefined) undecided.push(`${name}: too many orders to try`);
    else {
      findings.expect(isLinear, () => {
        return `${name}: no order explains its ${answered} answers: ${describe(operations)}`;
      });
    }
  }
  const verdict = findings.verdict({ 'registers with two answers': contested });
  const isUndecided = verdict.status === 'PASS' && undecided.length > 0;
  return isUndecided ? { ...verdict, status: 'UNKNOWN', details: undecided } : verdict;
}

/** All operations in the order of their start, in milliseconds since the first. */
function describe(operations: readonly RegisterOperation[]): string {
  const sorted = operations.toSorted((a, b) => a.startUs - b.startUs);
  const originUs = sorted[0]?.startUs ?? 0;
  const ms = (us: number): string => ((us - originUs) / 1000).toFixed(1);
  const texts = sorted.map((operation) => {
    const { kind, startUs, endUs, outcome } = operation;
    const lease = kind === 'release' ? ` ${operation.lease.slice(0, 13)}` : '';
    const answer = outcome.kind === 'ok' ? outcome.value : `${outcome.kind} ${outcome.reason}`;
    const shown = typeof answer === 'object' ? (answer.lease?.slice(0, 13) ?? 'leased') : answer;
    return `${ms(startUs)}-${ms(endUs)} ${kind}${lease}: ${shown}`;
  });
  return texts.join('; ');
}

/** Whether an order exists; undefined if the search was given up. */
export function isLinearizable(operations: readonly RegisterOperation[]): boolean | undefined {
  const steps = operations
    .filter(({ outcome }) => outcome.kind !== 'refused')
    .map((operation): Step => {
      const isKnown = operation.outcome.kind === 'ok';
      return {
        operation,
        startUs: operation.startUs,
        endUs: isKnown ? operation.endUs : Infinity,
      };
    })
    .sort((a, b) => a.startUs - b.startUs);
  return search(steps);
}

function search(steps: readonly Step[]): boolean | undefined {
  const seen = new Set<string>();
  const pending: { readonly done: ReadonlySet<number>; readonly state: string }[] = [
    { done: new Set(), state: FREE },
  ];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { done, state } = node;
    const open = steps.flatMap((step, position) =>
      done.has(position) ? [] : [{ step, position }],
    );
    const firstEndUs = open.reduce((least, { step }) => Math.min(least, step.endUs), Infinity);
    if (firstEndUs === Infinity) return true;
    for (const { step, position } of open) {
      if (step.startUs > firstEndUs) break;
      const next = apply(step.operation, state);
      if (next === undefined) continue;
      const key = keyOf(steps.length, done, position, next);
      if (seen.has(key)) continue;
      if (seen.size === STATES_MAX) return undefined;
      seen.add(key);
      pending.push({ done: new Set([...done, position]), state: next });
    }
  }
  return false;
}

/** The state after an operation, or undefined if its answer is impossible in this one. */
function apply(operation: RegisterOperation, state: string): string | undefined {
  const { outcome } = operation;
  if (outcome.kind === 'refused') return undefined;
  const isFree = state === FREE || state === LOST;
  if (operation.kind === 'claim') {
    if (operation.outcome.kind !== 'ok') return isFree ? LOST : undefined;
    const { lease } = operation.outcome.value;
    if (lease === undefined) return state === FREE ? undefined : state;
    return isFree ? lease : undefined;
  }
  const isHeld = state === operation.lease;
  if (operation.outcome.kind !== 'ok') return isHeld ? FREE : undefined;
  if (operation.outcome.value) return isHeld ? FREE : undefined;
  return isHeld ? undefined : state;
}

function keyOf(length: number, done: ReadonlySet<number>, added: number, state: string): string {
  let bits = '';
  for (let i = 0; i < length; i += 1) bits += done.has(i) || i === added ? '1' : '0';
  return `${bits}${state}`;
}
