import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path'; /** Where what is to outlive a restart is kept. */
export interface SnapshotStore {
  /** undefined when there is none. */
  load(): Promise<string | undefined>;
  save(text: string): Promise<void>;
  /** Told why the next start will know nothing of it. */
  onFailure(message: string, error?: unknown): void;
}

export interface SnapshotKeeperOptions {
  store: SnapshotStore;
  /** undefined: there is too much to be kept. */
  write(): string | undefined;
  delayMs?: number;
}

const DELAY_MS = 1_000;

/** Writes what has changed a little later, all changes of that time at once. */
export class SnapshotKeeper {
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isTroubled = false;

  constructor(private readonly options: SnapshotKeeperOptions) {}

  changed(): void {
    const { delayMs = DELAY_MS } = this.options;
    this.#timer ??= setTimeout(() => this.#saveNow(), delayMs).unref();
  }

  /** What has changed and was not written yet is written now. */
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
      this.#tell(
        'the lab keeps what its enrollment program holds only until it ends: it is too much',
      );
      return;
    }
    try {
      await store.save(text);
      this.#isTroubled = false;
    } catch (error) {
      this.#tell('what the enrollment program of the lab holds could not be written', error);
    }
  }

  /** Once, until it works again. */
  #tell(message: string, error?: unknown): void {
    if (!this.#isTroubled) this.options.store.onFailure(message, error);
    this.#isTroubled = true;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Keeps it in a file that is whole at any time; one that can't be read counts as missing. */
export function createSnapshotFile(
  file: string,
  onTrouble: SnapshotStore['onFailure'],
): SnapshotStore {
  return {
    load: async () => {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (!isMissing(error)) onTrouble(`${file} could not be read: the lab begins anew`, error);
        return undefined;
      }
    },
    save: async (text) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    onFailure: onTrouble,
  };
}
