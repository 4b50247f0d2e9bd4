// §1.4 Encryption at rest, seen from outside: a queue that encrypts answers as any other. On a broker
// without a key its messages are refused one by one, which every case here accepts, and nothing else.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { payloads } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';
import { VERBATIM_TEXT } from '../verbatim.ts';

/** A rule about a queue that encrypts; `check` runs on brokers with a key. */
function sealedRule(sentence: string, check: (scene: Scene) => Promise<void>): Rule {
  return rule(sentence, async (scene) => {
    await scene.configure({ encryptionEnabled: true });
    const probe = { queue: scene.name('probe'), options: { encryptionEnabled: true } };
    await scene.post('/configure', probe);
    const [verdict] = await scene.client.push([{ queue: probe.queue, payload: 'probe' }]);
    if (verdict?.status === 'error') {
      expect((verdict as unknown as Json)['code']).toBe('encryption_key_missing');
      return;
    }
    await check(scene);
  });
}

/** Pushes the verbatim payload to the case's queue. */
async function pushVerbatim(scene: Scene, rest = ''): Promise<void> {
  const item = `{"queue":"${scene.queue}","payload":${VERBATIM_TEXT}${rest}}`;
  expect((await scene.text('/push', `{"items":[${item}]}`)).status).toBe(201);
}

const rules: readonly Rule[] = [
  sealedRule('§1.4 an encrypted payload is delivered byte by byte', async (scene) => {
    await pushVerbatim(scene);
    await pushVerbatim(scene, ',"transactionId":"t"');
    const { text } = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(text.split(`"data":${VERBATIM_TEXT},`)).toHaveLength(3);
  }),
  sealedRule('§1.4 an encrypted payload is fetched byte by byte', async (scene) => {
    await pushVerbatim(scene);
    const entries = [{ queue: scene.queue, partition: 'Default', offset: 0 }];
    const { text } = await scene.send('POST', '/fetch', { entries });
    expect(text).toContain(`"payload":${VERBATIM_TEXT},`);
  }),
  sealedRule('§1.4 encrypted messages are listed and shown decrypted', async (scene) => {
    await pushVerbatim(scene, ',"transactionId":"t"');
    const { messages } = await scene.get<{ messages: Json[] }>(`/messages?queue=${scene.queue}`);
    expect(messages).toMatchObject([{ isEncrypted: true, payloadAvailable: true }]);
    const address = `/messages/${String(messages[0]?.['partitionId'])}/t`;
    const { text } = await scene.send('GET', address);
    expect(text).toContain(`"data":${VERBATIM_TEXT},"payload":${VERBATIM_TEXT},`);
  }),
  sealedRule('§1.4 a transaction encrypts what it pushes', async (scene) => {
    const operations = [{ type: 'push', queue: scene.queue, payload: { deep: [1] } }];
    await scene.post('/transaction', { operations });
    expect(payloads(await scene.claim())).toEqual([{ deep: [1] }]);
    const { messages } = await scene.get<{ messages: Json[] }>(`/messages?queue=${scene.queue}`);
    expect(messages).toMatchObject([{ isEncrypted: true }]);
  }),
  sealedRule('§1.4 a queue that encrypts recognises a transaction id', async (scene) => {
    await scene.fill(2);
    expect(await scene.fill(3)).toMatchObject([
      { status: 'duplicate', offset: 0 },
      { status: 'duplicate', offset: 1 },
      { status: 'queued', offset: 2 },
    ]);
    expect(payloads(await scene.claim())).toEqual([0, 1, 2]);
  }),
  sealedRule('§1.4 dead letters are listed decrypted', async (scene) => {
    await pushVerbatim(scene);
    await scene.bury();
    const { text } = await scene.send('GET', `/dlq?queue=${scene.queue}`);
    expect(text).toContain(`"data":${VERBATIM_TEXT},"payload":${VERBATIM_TEXT},`);
  }),
  sealedRule('§1.4 an encrypted dead letter is replayed to any queue', async (scene) => {
    await pushVerbatim(scene);
    await pushVerbatim(scene);
    await scene.bury(2);
    const letters = await scene.letters();
    const plain = scene.name('plain');
    await scene.post(`/dlq/${String(letters[0]?.['id'])}/replay`, {});
    await scene.post(`/dlq/${String(letters[1]?.['id'])}/replay`, { queue: plain });
    for (const queue of [scene.queue, plain]) {
      const { text } = await scene.popAnswer(`/queue/${queue}`);
      expect(text).toContain(`"data":${VERBATIM_TEXT},`);
    }
  }),
  sealedRule(
    '§1.4 messages from before and after the option was switched are read',
    async (scene) => {
      await scene.configure({ encryptionEnabled: false });
      await scene.push(['before'], { transactionId: 'a' });
      await scene.configure({ encryptionEnabled: true });
      await scene.push(['while'], { transactionId: 'b' });
      await scene.configure({ encryptionEnabled: false });
      await scene.push(['after'], { transactionId: 'c' });
      expect(payloads(await scene.claim())).toEqual(['before', 'while', 'after']);
    },
  ),
  uncheckedRule('§1.4 files hold no payload of such a queue', 'not seen from outside; integration'),
  uncheckedRule('§1.4 a wrong key is 503 and delivers nothing', 'needs a restart; integration'),
];

/** §1.4. */
export const ENCRYPTION: Section = { title: '1.4 encryption', rules };
