/** What processes keep in memory and hear of when another one changes it; see table change_topics. */
export type ChangeTopic = 'authorities' | 'push_certificates' | 'push_topics' | 'tokens';

/** Announced without a version, since the due rows themselves are looked for again and again. */
export type Announcement = ChangeTopic | 'pushes';

export interface ChangeFeed {
  /** `listener` runs after each change, and when changes may have been missed. */
  on(topic: Announcement, listener: () => void): void;
  /** Tells the other processes, and this one. Never rejects: a lost word is made up for. */
  announce(topic: 'pushes'): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}
