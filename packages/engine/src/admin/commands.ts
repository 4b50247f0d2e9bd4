// The commands of the control plane live in packages/protocol; this is where this package's door finds
// them.

export type {
  AdminCommand,
  AdminOutcome,
  DeletedDeadLettersOutcome,
  DeleteDeadLettersCommand,
  DeleteGroupCommand,
  DeleteGroupOutcome,
  PurgeDeadLettersCommand,
  ReplayDeadLetterCommand,
  ReplayDeadLetterOutcome,
  SeekCommand,
  SeekOutcome,
  SeekTarget,
  SubscribeCommand,
  SubscribeOutcome,
} from '@queen-ts/protocol';
