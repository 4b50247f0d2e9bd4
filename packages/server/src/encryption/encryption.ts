// Encryption at rest of one node: its key if it has one, and what happens to messages of queues that
// encrypt if it has none (decisions D1). The node that receives a push seals it, before the command leaves
// for the leader; each node opens what it shows.

import type { Clock } from '@queen-ts/base';
import type { Broker, RequestOptions } from '@queen-ts/cluster';
import { NO_OPENER, openDeadLetter, SealBindings, SEALING } from '@queen-ts/protocol';
import type {
  DeadLetterRow,
  Outcome,
  PayloadOpener,
  PushCommand,
  ReplayDeadLetterCommand,
  TransactionCommand,
} from '@queen-ts/protocol';
import { encodeUtf8, formatUuid } from '@queen-ts/base';
import { paced } from '../http/paced.ts';
import { PayloadCipher, SEAL_SIZE } from './payload-cipher.ts';
import { sealPush } from './seal-push.ts';

/** What a node encrypts with. */
export interface EncryptionSettings {
  /** 32 bytes, the same on every node; undefined: this node can neither seal nor open. */
  readonly encryptionKey: Uint8Array | undefined;
  /** Whether a node without a key stores plaintext where encryption is asked for. */
  readonly storesPlaintextWithoutKey: boolean;
}

const NO_KEY_ID = new Uint8Array(0);

/** A command that may bring messages. */
type Pushing = PushCommand | TransactionCommand;

/** A dead letter with the command that sends its copy away. */
export interface Replay {
  readonly letter: DeadLetterRow;
  readonly command: ReplayDeadLetterCommand;
}

/** Seals what comes in and opens what goes out. */
export class Encryption {
  /** Opens payloads for answers. */
  readonly opener: PayloadOpener;
  readonly #cipher: PayloadCipher | undefined;
  readonly #sealing: number;
  readonly #broker: Pick<Broker, 'encrypts' | 'submit'>;
  readonly #clock: Clock;

  constructor(
    parts: { readonly broker: Pick<Broker, 'encrypts' | 'submit'>; readonly clock: Clock },
    { encryptionKey: key, storesPlaintextWithoutKey }: EncryptionSettings,
  ) {
    this.#broker = parts.broker;
    this.#clock = parts.clock;
    this.#cipher = key === undefined ? undefined : new PayloadCipher(key);
    this.opener = this.#cipher ?? NO_OPENER;
    const keyless = storesPlaintextWithoutKey ? SEALING.WAIVED : SEALING.KEYLESS;
    this.#sealing = key === undefined ? keyless : SEALING.SEALED;
  }

  /** The id of the key, empty without one. */
  get keyIdBytes(): Uint8Array {
    return this.#cipher?.keyIdBytes ?? NO_KEY_ID;
  }

  /** The id of the key as text, undefined without one. */
  get keyId(): string | undefined {
    return this.#cipher?.keyId;
  }

  /**
   * Submits a push or a transaction, sealed for the queues that encrypt. A queue of which this node
   * learns by the leader's refusal has begun to encrypt just now: then the whole push is sealed.
   */
  async submit(command: Pushing, options: RequestOptions): Promise<Outcome> {
    const push = command.kind === 'push' ? command : command.push;
    if (push === undefined) return this.#broker.submit(command, options);
    const isKnown = push.queues.some((queue) => this.#broker.encrypts(queue));
    const first = isKnown
      ? await this.#seal(command, push, (queue) => this.#broker.encrypts(queue))
      : command;
    const outcome = await this.#broker.submit(first, options);
    if (!isEncryptionRequired(outcome)) return outcome;
    return this.#broker.submit(await this.#seal(command, push, () => true), options);
  }

  /**
   * Seals the copy of a dead letter for where it goes, or says that there is no key. What was encrypted
   * stays so, whatever the destination says. Throws as {@link PayloadOpener.open} does.
   */
  sealReplay({ letter, command }: Replay): ReplayDeadLetterCommand {
    const cipher = this.#cipher;
    if (cipher === undefined && !letter.isEncrypted) {
      const isWaived = this.#sealing === SEALING.WAIVED;
      return { ...command, sealing: isWaived ? SEALING.WAIVED : SEALING.KEYLESS };
    }
    const payload = openDeadLetter(letter, this.opener);
    if (cipher === undefined) return command;
    const { queue = letter.queue, partition = letter.partition } = command;
    const transactionId = encodeUtf8(`dlq:${formatUuid(command.id)}`);
    const sealed = new Uint8Array(payload.length + SEAL_SIZE);
    cipher.seal(payload, new SealBindings(queue, partition).given(transactionId), sealed, 0);
    return { ...command, sealing: SEALING.SEALED, payload: sealed };
  }

  async #seal(
    command: Pushing,
    push: PushCommand,
    encrypts: (queue: string) => boolean,
  ): Promise<Pushing> {
    const sealings = Uint8Array.from(push.queues, (queue) =>
      encrypts(queue) ? this.#sealing : SEALING.NONE,
    );
    const cipher = this.#cipher;
    const sealed =
      cipher === undefined
        ? { ...push, sealings }
        : await paced(this.#clock, sealPush(push, sealings, cipher));
    return command.kind === 'push' ? sealed : { ...command, push: sealed };
  }
}

/** Whether the leader wants the payloads sealed. */
function isEncryptionRequired(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && outcome.code === 'encryption_required';
}
