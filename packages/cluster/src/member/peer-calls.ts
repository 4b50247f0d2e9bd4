// What members ask each other: the calls, their answers, and both as bytes. A call is a kind and a
// record; an answer is a value with the log index that it rests on, or an operating error.

import { CodecError } from '@queen-ts/base';
import { BrokerError, ERRORS } from '@queen-ts/protocol';
import type { Command, ErrorCode, PopCommand, RequestId } from '@queen-ts/protocol';
import type { MembershipChange } from '@queen-ts/raft';
import { decodeValue, encodeValue } from './peer-values.ts';

/** Kinds of calls; the numbers are part of the peer protocol. */
export const CALL = {
  /** Plan and commit a command: {@link SubmitCall}, answered with its outcome. */
  SUBMIT: 1,
  /** Claim messages: {@link PopCall}, answered with the outcome. */
  POP: 2,
  /** Confirm the leadership; the answer's index is what a linearizable read must have applied. */
  READ_INDEX: 3,
  /** Payload bytes of committed entries: {@link PayloadCall}, answered with as many byte arrays. */
  PAYLOADS: 4,
  /** One change of the members: {@link MembersCall}; answered when it is committed. */
  CHANGE_MEMBERS: 5,
  /** Hand over the leadership: {@link TransferCall}; answered with the id of the new leader. */
  TRANSFER: 6,
  /** What a node knows of itself and, if it leads, of the others: no body. */
  NODE_VIEW: 7,
  /** How full the disk of the asker is: {@link DiskCall}; no answer but that it came. */
  DISK: 8,
} as const;

/** A write, prepared by the node that received it. */
export interface SubmitCall {
  readonly command: Command;
  readonly requestId: RequestId | undefined;
}

/** A pop, prepared by the node that received it. */
export interface PopCall {
  readonly command: PopCommand;
  readonly wait: boolean;
  readonly requestId: RequestId | undefined;
}

/** Spans of payloads, all of committed entries. */
export interface PayloadCall {
  readonly ranges: readonly {
    readonly index: number;
    readonly from: number;
    readonly to: number;
  }[];
}

/** One step of a change. */
export interface MembersCall {
  readonly change: MembershipChange;
}

/** 0 lets the leader choose the voter that is closest. */
export interface TransferCall {
  readonly to: number;
}

/** A report of a disk. */
export interface DiskCall {
  /** Used part, in [0, 1]. */
  readonly used: number;
}

/** An answer: the value, and the highest index that the peer knew committed when it answered. */
export interface PeerAnswer {
  readonly index: number;
  readonly value: unknown;
}

/** Encodes an answer. */
export function encodeAnswer({ index, value }: PeerAnswer): Uint8Array {
  return encodeValue({ index, value });
}

/** Encodes an operating error; the asker throws it. */
export function encodeError({ code, message, details }: BrokerError): Uint8Array {
  return encodeValue({ code, message, details });
}

/** Decodes an answer; throws the BrokerError that it is, or CodecError. */
export function decodeAnswer(bytes: Uint8Array): PeerAnswer {
  const answer = decodeValue(bytes);
  if (!isRecord(answer)) throw new CodecError('an answer is no record');
  if ('code' in answer) throw errorOf(answer);
  const { index, value } = answer;
  if (typeof index !== 'number') throw new CodecError('an answer has no index');
  return { index, value };
}

/** Decodes the body of a call. Throws CodecError. The peer runs the same code, so its shape is taken. */
export function decodeCall<T>(bytes: Uint8Array): T {
  const call = decodeValue(bytes);
  if (!isRecord(call)) throw new CodecError('a call is no record');
  return call as T;
}

function errorOf({ code, message, details }: Readonly<Record<string, unknown>>): BrokerError {
  if (typeof code !== 'string' || !(code in ERRORS)) throw new CodecError('an unknown error code');
  const text = typeof message === 'string' ? message : '';
  return new BrokerError(code as ErrorCode, text, isRecord(details) ? { details } : {});
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
