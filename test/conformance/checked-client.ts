// A client whose every answer is held to its description.

import { HttpClient } from '../support/http-client.ts';
import type { Answer, RequestOptions } from '../support/http-client.ts';
import type { AnswerChecker } from './answer-checker.ts';

/** An HttpClient that shows its answers to a checker. */
export class CheckedClient extends HttpClient {
  readonly #checker: AnswerChecker;

  constructor(url: string, checker: AnswerChecker) {
    super(url);
    this.#checker = checker;
  }

  override async request(
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const answer = await super.request(method, path, options);
    this.#checker.check(method, path, answer);
    return answer;
  }
}
