import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Stores the state across restarts. */
export interface SnapshotStore {
  /** undefined if nothing is stored. */
  load(): Promise<string | undefined>;
  save(text: string): Promise<void>;
  /** Called with the reason why the state is not stored or loaded. */
  onFailure(message: string, error?: unknown): void;
}

export interface SnapshotKeeperOptions {
  store: SnapshotStore;
  /** undefined: the state is too large to be stored. */
  write(): string | undefined;
  delayMs?: number;
}

const DELAY_MS = 1_000;

/** Writes changes after a short delay, all changes of that time at once. */
export class SnapshotKeeper {
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(private readonly options: SnapshotKeeperOptions) {}

  changed(): void {
    const { delayMs = DELAY_MS } = this.options;
    this.#timer ??= setTimeout(() => this.#saveNow(), delayMs).unref();
  }

  /** Writes pending changes now. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#saveNow();
    await this.#saving;
  }

  #saveNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#saving = this.#saving.then(() => this.#save());
  }

  async #save(): Promise<void> {
    const { store, write } = this.options;
    const text = write();
    if (text === undefined) {
      this.#report('the state of the DEP stand-in is too large to be stored: a restart loses it');
      return;
    }
    try {
      await store.save(text);
      this.#hasFailed = false;
    } catch (error) {
      this.#report('the state of the DEP stand-in could not be written', error);
    }
  }

  /** Reports once, until writing works again. */
  #report(message: string, error?: unknown): void {
    if (!this.#hasFailed) this.options.store.onFailure(message, error);
    this.#hasFailed = true;
  }
}

/** Stores the state in a file, replaced atomically; an unreadable file counts as missing. */
export function createSnapshotFile(
  file: string,
  onFailure: SnapshotStore['onFailure'],
): SnapshotStore {
  return {
    load: async () => {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (!isMissing(error))
          onFailure(`${file} could not be read: the lab starts with a new state`, error);
        return undefined;
      }
    },
    save: async (text) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    onFailure,
  };
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
