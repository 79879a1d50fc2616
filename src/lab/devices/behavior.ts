/** How a simulated device behaves: as it should, or as one that the diagnosis of its server finds. */
export const BEHAVIORS = {
  well: 'answers pushes and carries out commands',
  silent: 'is switched off: it contacts the server no more',
  busy: 'answers NotNow to every command',
  failing: 'answers Error to every command',
  mute: 'fetches commands and never answers them',
  'bad-token': 'has sent a push token that is too short for the push service',
  'wrong-topic': 'has another push topic than the push certificate of its server',
  'wrong-clock': 'has a clock that is three hours behind',
  'half-enrolled': 'stops after Authenticate (only with --break)',
  removed: 'its user removes the enrollment profile: it sends CheckOut',
} as const;

export type Behavior = keyof typeof BEHAVIORS;

export const BEHAVIOR_NAMES = Object.keys(BEHAVIORS) as Behavior[];

/** Whether its push token or topic is another while it behaves so. */
export function changesToken(behavior: Behavior): boolean {
  return behavior === 'bad-token' || behavior === 'wrong-topic';
}

const WRONG_BY_MS = 3 * 3_600_000;

/** The time by the clock of a device that behaves so. */
export function clockOf({ behavior }: { behavior: Behavior }): Date {
  return new Date(Date.now() - (behavior === 'wrong-clock' ? WRONG_BY_MS : 0));
}
