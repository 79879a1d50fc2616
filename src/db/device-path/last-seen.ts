import { type Database, runStatement } from '../connection/database.js';

const FLUSH = {
  name: 'flush_last_seen',
  text: `
update devices d set last_seen = greatest(d.last_seen, s.at)
from (select * from unnest($1::bigint[], $2::timestamptz[]) as s (id, at) order by s.id) s
where d.id = s.id`,
};

const FLUSH_MS = 800;

/** Collects last-seen times in memory, so that an Idle poll alone writes nothing. */
export class LastSeen {
  readonly #times = new Map<number, Date>();
  readonly #db: Database;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(db: Database, onError: (error: unknown) => void) {
    this.#db = db;
    this.#onError = onError;
  }

  mark(deviceId: number): void {
    this.#times.set(deviceId, new Date());
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.flush().catch(this.#onError);
    }, FLUSH_MS);
  }

  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#times.size === 0) return;
    const entries = [...this.#times].sort(([a], [b]) => a - b);
    this.#times.clear();
    const ids = entries.map(([id]) => id);
    const times = entries.map(([, at]) => at);
    try {
      await runStatement(this.#db, FLUSH, [ids, times]);
    } catch (error) {
      // Retried with the next flush, unless the device was seen again meanwhile.
      for (const [id, at] of entries) if (!this.#times.has(id)) this.#times.set(id, at);
      throw error;
    }
  }
}
