/** Times are milliseconds. */
export interface ApnsLimits {
  /** Most connections; another is opened when the others are full. */
  sessions: number;
  /** Most pushes under way on one connection, where the service allows as many. */
  streams: number;
  /** Most pushes that wait for a place. */
  queued: number;
  /** For a connection to come about, settings of the service included. */
  connectTimeout: number;
  /** For the answer to a request. */
  requestTimeout: number;
  /** For a push as a whole: waiting for a place and repetitions included. */
  pushTimeout: number;
  /** After as much silence a connection is tried by PING before anything is entrusted to it. */
  staleAfter: number;
  /** A connection that answers nothing of what is under way for so long is tried by PING too. */
  silentAfter: number;
  /** A connection without pushes is kept open by PING this often. */
  pingEvery: number;
  pingTimeout: number;
  firstBackOff: number;
  longestBackOff: number;
  /** For what is under way when the client is closed. */
  drainTimeout: number;
}

export const APNS_LIMITS: Readonly<ApnsLimits> = {
  sessions: 2,
  streams: 1000,
  queued: 10_000,
  connectTimeout: 10_000,
  requestTimeout: 10_000,
  pushTimeout: 20_000,
  staleAfter: 60_000,
  silentAfter: 1_500,
  pingEvery: 3_600_000,
  pingTimeout: 5_000,
  firstBackOff: 250,
  longestBackOff: 8_000,
  drainTimeout: 2_000,
};
