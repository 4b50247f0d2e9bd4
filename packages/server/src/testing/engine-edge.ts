// An edge over an engine: commands are planned and reads run at once, as if every entry committed in
// no time. For routes whose answers are what the state says.

import { EngineDriver } from '@queen-ts/engine/testing';
import type { EdgeConfig } from '../edge.ts';
import { testEdge } from './test-edge.ts';
import type { TestEdge } from './test-edge.ts';

/** An answer with its body taken apart. */
export interface JsonAnswer {
  readonly status: number;
  readonly text: string;
  /** The parsed body. */
  readonly body: unknown;
}

/** What a test works with. */
export interface EngineEdge extends TestEdge {
  readonly driver: EngineDriver;
  /** Sends a request; an object as body goes out as JSON, a text as it is. */
  readonly send: (method: string, path: string, body?: object | string) => Promise<JsonAnswer>;
  /** GETs and returns the parsed body of a 200. */
  readonly get: <T>(path: string) => Promise<T>;
}

/** Builds the edge of a node. Its wall clock is the engine's time; nodes may share an engine. */
export function engineEdge(
  config: Partial<EdgeConfig> = {},
  driver: EngineDriver = new EngineDriver(),
): EngineEdge {
  const edge = testEdge({ wallUs: () => driver.nowUs, hashKey: driver.hashKey, config });
  edge.broker.view = () => driver.engine.view(driver.nowUs);
  edge.broker.payloads = driver.payloads;
  edge.broker.onEncrypts = (queue) => driver.engine.encrypts(queue);
  edge.broker.onPop = (command, { requestId }) =>
    driver.cycle(() => driver.engine.plan(command, requestId));
  edge.broker.onSubmit = (command, { requestId }) =>
    driver.cycle(() => driver.engine.plan(command, requestId));
  const send = async (
    method: string,
    path: string,
    body?: object | string,
  ): Promise<JsonAnswer> => {
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    const init = text === undefined ? { method } : { method, body: text };
    const answer = await edge.app.request(path, init);
    const answered = await answer.text();
    return { status: answer.status, text: answered, body: parsed(answered) };
  };
  const get = async <T>(path: string): Promise<T> => {
    const { status, text, body } = await send('GET', path);
    if (status !== 200) throw new Error(`${path} gave ${status}: ${text}`);
    return body as T;
  };
  return { ...edge, driver, send, get };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some refusals are plain text.
    return undefined;
  }
}
