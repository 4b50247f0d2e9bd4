// The answers to what a driver asks of a RaftNode. A refusal is an expected outcome: nothing happened.

import type { ChangeRefusal } from './membership.ts';

export type ProposeResult =
  | { readonly ok: true; readonly index: number; readonly term: number }
  | {
      readonly ok: false;
      readonly refusal: 'notLeader' | 'tooManyUncommitted' | 'transferring';
    };

export type ReadIndexResult =
  { readonly ok: true } | { readonly ok: false; readonly refusal: 'notLeader' | 'tooManyReads' };

export type TransferResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** `transferring`: another transfer runs. `notVoter`: unknown, a learner, or refused. */
      readonly refusal: 'notLeader' | 'transferring' | 'notVoter' | 'isLeader';
    };

export type MembershipResult =
  | { readonly ok: true; readonly index: number; readonly term: number }
  | {
      readonly ok: false;
      readonly refusal:
        | 'notLeader'
        | 'transferring'
        /** An earlier change has not committed yet. */
        | 'changeInFlight'
        /** No entry of this term is committed yet (the single-server bug of 2015). */
        | 'termNotCommitted'
        /** The learner has not replicated what was committed one heartbeat ago. */
        | 'learnerBehind'
        /**
         * The voters after the change that were heard within an election timeout, or those whose
         * disk is on record, are no majority.
         */
        | 'noQuorum'
        | ChangeRefusal;
    };
