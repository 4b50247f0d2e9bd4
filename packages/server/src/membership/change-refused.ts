// Why a change of the members was refused: stable codes of the administration, all of them 409.

/** The codes (control-plane reference §9.2). */
export type ChangeCode =
  | 'in_flight'
  | 'no_quorum'
  | 'last_voter'
  | 'learner_behind'
  | 'already_voter'
  | 'address_mismatch'
  | 'membership_changed'
  | 'leader_changed'
  | 'not_a_learner'
  | 'not_a_member'
  | 'not_a_voter'
  | 'too_many_members';

/** An expected refusal; nothing of this step happened. */
export class ChangeRefused extends Error {
  override readonly name = 'ChangeRefused';
  readonly code: ChangeCode;

  constructor(code: ChangeCode, message: string) {
    super(message);
    this.code = code;
  }
}
