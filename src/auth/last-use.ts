import { touchTokens } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { createWarner, type Logger } from '../logger.js';

export interface LastUse {
  note(id: number): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

const FLUSH_MS = 5_000;

/** Collects when tokens were used, so that a request costs no write. */
export function createLastUse(deps: { db: Database; logger: Logger }): LastUse {
  let pending = new Map<number, Date>();
  const warn = createWarner(deps.logger);
  const timer = setInterval(() => void flush(), FLUSH_MS);
  timer.unref();

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    try {
      await touchTokens(deps.db.knex, batch);
    } catch (error) {
      // Newer uses win over the batch that comes back.
      pending = new Map([...batch, ...pending]);
      warn({ err: error }, 'last use of tokens not stored yet');
    }
  }

  return {
    note: (id) => void pending.set(id, new Date()),
    flush,
    close: () => {
      clearInterval(timer);
      return flush();
    },
  };
}
