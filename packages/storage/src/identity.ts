// identity.json: who a data directory belongs to. Written once, as the last step of creating the
// directory, so its presence means that creation was finished. The text is canonical: a reader
// renders what it parsed and compares, so every changed byte is noticed.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

import type { Rng } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';

import { corruption, hasSystemCode, StorageError } from './errors.ts';
import { writeFileAtomically } from './files.ts';

/** File name inside the data directory. */
export const IDENTITY_FILE = 'identity.json';

/** Version of the directory layout and of everything in it. */
const DIRECTORY_FORMAT_VERSION = 1;

const FORMAT_NAME = 'queen-ts data directory';

/** Whose directory this is. */
export interface NodeIdentity {
  readonly nodeId: NodeId;
  /** A random integer in [1, 2^48), drawn when the directory was created. */
  readonly incarnation: number;
}

/** Draws the incarnation of a new directory. */
export function newIdentity(nodeId: NodeId, rng: Rng): NodeIdentity {
  let incarnation = 0;
  while (incarnation === 0) incarnation = (rng.u32() >>> 16) * 2 ** 32 + rng.u32();
  return { nodeId, incarnation };
}

/** Writes the file atomically and syncs it and its directory. */
export async function writeIdentity(directory: string, identity: NodeIdentity): Promise<void> {
  await writeFileAtomically(join(directory, IDENTITY_FILE), render(identity));
}

/**
 * Reads and verifies the file; `undefined` when there is none.
 * Throws CORRUPTION or FORMAT_UNSUPPORTED.
 */
export async function readIdentity(directory: string): Promise<NodeIdentity | undefined> {
  const path = join(directory, IDENTITY_FILE);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  return parse(path, text);
}

function render({ nodeId, incarnation }: NodeIdentity): string {
  const fields = {
    format: FORMAT_NAME,
    version: DIRECTORY_FORMAT_VERSION,
    nodeId,
    incarnation,
  };
  const checksum = crc32(JSON.stringify(fields)).toString(16).padStart(8, '0');
  return `${JSON.stringify({ ...fields, checksum }, undefined, 2)}\n`;
}

function parse(path: string, text: string): NodeIdentity {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw corruption(path, 'not readable as JSON', error);
  }
  if (!isRecord(value) || value['format'] !== FORMAT_NAME) {
    throw corruption(path, 'not an identity file');
  }
  const { version, nodeId, incarnation } = value;
  if (typeof version === 'number' && version !== DIRECTORY_FORMAT_VERSION) {
    const message = `${path}: directory format version ${version}, this program knows ${DIRECTORY_FORMAT_VERSION}`;
    throw new StorageError({ code: 'FORMAT_UNSUPPORTED', message, details: { path } });
  }
  if (!isNodeId(nodeId) || !isIncarnation(incarnation)) {
    throw corruption(path, 'a field is missing or out of range');
  }
  const identity = { nodeId, incarnation };
  if (render(identity) !== text) throw corruption(path, 'checksum mismatch');
  return identity;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isNodeId(value: unknown): value is NodeId {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value < 2 ** 32;
}

function isIncarnation(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value < 2 ** 48;
}
